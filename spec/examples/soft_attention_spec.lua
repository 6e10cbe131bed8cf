local command = require "spec.host.command"
local lfs = require "lfs"
local run = require "spec.examples.run"

local NAME <const> = "soft_attention"

describe("examples/soft_attention.lua", function()
  local out, files

  setup(function()
    local code, err
    code, out, err, files = run.example(NAME)
    assert.equal("", err)
    assert.equal(0, code)
  end)

  it("prints the masked softmaxes of the notebook", function()
    for _, printed in ipairs {[=[
[[[0.6174  0.3826  0.0000  0.0000]
  [0.3164  0.6836  0.0000  0.0000]]

 [[0.3391  0.2975  0.3634  0.0000]
  [0.4018  0.2755  0.3227  0.0000]]]
]=], [=[
[[[1.0000  0.0000  0.0000  0.0000]
  [0.3335  0.2970  0.3695  0.0000]]

 [[0.4541  0.5459  0.0000  0.0000]
  [0.1296  0.2880  0.2429  0.3395]]]
]=]} do
      assert.matches(printed, out, 1, true)
    end
  end)

  it("masks a sequence behind its valid length", function()
    assert.same({1, 0, 0, 4, 5, 0}, run.numbers(out, "is replaced"))
  end)

  it("prints the results of both attentions of the notebook", function()
    for _, heading in ipairs {"Additive", "Dot-product"} do
      assert.same({2, 3, 4, 5, 10, 11, 12, 13}, run.numbers(out,
        heading .. " attention, all keys alike\n"))
    end
  end)

  it("holds itself against what is known", function()
    for what, times in pairs {
      ["F.masked_softmax gives the same"] = 2, ["weights as by hand"] = 4,
      ["result as by hand"] = 4, ["the mean of the valid values"] = 2,
    } do
      local _, n = out:gsub("checked: " .. what .. "\n", "")
      assert.equal(times, n)
    end
  end)

  it("draws the weights of both", function()
    for _, name in ipairs {"additive", "dot-product", "additive-different",
        "dot-product-different"} do
      local file = NAME .. "-" .. name .. ".png"
      local width, height = run.png_size(files[file])
      assert.is_true(width > height) -- two rows of ten
      assert.matches("written: [^\n]*/" .. file:gsub("%p", "%%%0"), out)
      files[file] = nil
    end
    assert.same({}, files)
  end)

  it("gives the mean of what is valid, whatever the seed", function()
    local code, other = run.example(NAME, "--seed", "5", "--lengths", "0",
      "10")
    assert.equal(0, code)
    for _, heading in ipairs {"Additive", "Dot-product"} do
      assert.same({0, 0, 0, 0, 18, 19, 20, 21}, run.numbers(other,
        heading .. " attention, all keys alike\n"))
    end
    assert.not_equal(out:match "masked_softmax.-checked",
      other:match "masked_softmax.-checked")
  end)

  it("explains its options", function()
    local code, help = run.example(NAME, "--help")
    assert.equal(0, code)
    for _, name in ipairs {"--seed", "default: 1", "--threads", "--out",
        "--lengths"} do
      assert.matches(name, help, 1, true)
    end
  end)

  for message, arguments in pairs {
    ["--lengths must be at most 10, got 11"] = {"--lengths", "2", "11"},
    ["--lengths must be a whole number of at least 0, got x (see --help)"] =
      {"--lengths", "x", "1"},
    ["option '--lengths' requires 2 arguments (see --help)"] =
      {"--lengths", "2"},
  } do
    it("refuses " .. table.concat(arguments, " "), function()
      local code, said, err, written = run.example(NAME,
        table.unpack(arguments))
      assert.equal(NAME .. ": " .. message .. "\n", err)
      assert.equal("", said)
      assert.equal(1, code)
      assert.same({}, written)
    end)
  end

  it("names gnuplot when it is missing", function()
    local folder = os.tmpname()
    os.remove(folder)
    local code, _, err = command.shell(("PATH=/nowhere %s "
      .. "examples/soft_attention.lua --out %s"):format(command.program,
      folder))
    assert.equal("soft_attention: heatmap: gnuplot is not installed (Debian: "
      .. "apt install gnuplot-nox)\n", err)
    assert.equal(1, code)
    assert.is_true(lfs.rmdir(folder)) -- nothing in it
  end)

  it("says that the folder cannot be made", function()
    local path = command.file ""
    local code, _, err = command.heed {"examples/soft_attention.lua", "--out",
      path .. "/pictures"}
    os.remove(path)
    assert.equal(("soft_attention: cannot make the folder %s/pictures: "
      .. "File exists\n"):format(path), err)
    assert.equal(1, code)
  end)
end)
