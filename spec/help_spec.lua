-- heed.help: what is offered has a text, and it is found.
local collect = require "tools.reference.collect"
local heed = require "heed"
local help <const> = heed.help

-- Lines of code give their texts from these.
local function entry_of(path)
  for _, entry in ipairs(help.entries()) do
    if entry.path == path then return entry end
  end
end

describe("heed.help", function()
  it("has a text for everything that heed offers", function()
    local entries, missing = collect.all(".", heed)
    assert.same({}, missing)
    local paths = {}
    for _, entry in ipairs(entries) do
      assert.is_nil(paths[entry.path], entry.path .. " is there twice")
      paths[entry.path] = true
      assert.not_equal("", entry.summary, entry.path)
      assert.is_true(#entry.usages > 0, entry.path .. " has no example")
      for _, param in ipairs(entry.params) do
        assert.is_true(param.type ~= nil or param.text ~= "",
          entry.path .. " does not explain " .. param.name)
      end
    end
    for _, op in ipairs(heed.core.op_table) do
      if op.group == "tensor" then
        assert.is_true(paths["heed." .. op.name], op.name)
      end
    end
  end)

  it("was built from these sources", function()
    local entries = collect.all(".", heed)
    assert.equal(#entries, #help.entries())
    for i, entry in ipairs(entries) do
      assert.same(entry.text, help.entries()[i].text)
    end
  end)

  it("shows signature, parameters, result, errors and an example", function()
    local text, found = help.text "heed.softmax"
    assert.is_true(found)
    for _, part in ipairs {"heed.softmax(x: tensor, dim: axis = -1)",
        "also x:softmax(...)", "positive and summing to 1",
        "dim  dimension, the last by default", "gives  tensor like x",
        "fails  when x is not float", "heed.tensor{0.0, 0.0}:softmax()"} do
      assert.matches(part, text, 1, true)
    end
  end)

  it("takes names by their ends, and F for the functions of nn", function()
    for _, name in ipairs {"nn.Linear", "heed.nn.Linear", "Linear"} do
      assert.matches("^nn%.Linear%(in_features, out_f", (help.text(name)))
    end
    assert.matches("^F%.scaled_dot_product_attention%(q, k, v",
      (help.text "F.scaled_dot_product_attention"))
    assert.matches("^x:backward%(", (help.text "tensor:backward"))
    assert.matches("See also heed.nn.functional.softmax.",
      (help.text "softmax"), 1, true)
  end)

  it("takes functions, classes and methods themselves", function()
    assert.matches("^nn%.Linear%(", (help.text(heed.nn.Linear)))
    assert.matches("^heed%.softmax%(", (help.text(heed.softmax)))
    assert.matches("^heed%.plot%.heatmap%(", (help.text(heed.plot.heatmap)))
    assert.equal("help: nothing on a function; try a word, as "
      .. "heed.help \"mask\"\n", (help.text(print)))
  end)

  it("lists the methods of a class and the items of options", function()
    assert.matches("Methods: .*forward", (help.text "MultiHeadAttention"))
    assert.matches("\n +%- `window`: how many keys a query sees",
      (help.text "F.scaled_dot_product_attention"))
  end)

  it("searches names, first sentences, then texts", function()
    local found = help.search "MASK"
    assert.matches("mask", found[1].name)
    local rank = {}
    for i, entry in ipairs(found) do rank[entry.path] = i end
    assert.is_true(rank["heed.masked_fill"] <
      rank["heed.nn.functional.scaled_dot_product_attention"])
    assert.matches('^About "maske":\n  heed%.masked_fill +x with `value`',
      (help.text "maske"))
    assert.same({'help: nothing on "qqq"\n', false}, {help.text "qqq"})
  end)

  it("names what is a slip away from a word that nothing is about", function()
    assert.matches('^help: nothing on "softmx"; near it: softmax, ',
      (help.text "softmx"))
    assert.matches('^help: nothing on "nn.Liner"; near it: Linear',
      (help.text "nn.Liner"))
  end)

  it("lists what a part holds", function()
    local text, found = help.text(heed.optim)
    assert.is_true(found)
    assert.matches("^heed%.optim:\n  Adafactor +Makes an Adafactor", text)
    assert.matches("\n  StepLR +Times gamma", text)
    assert.is_nil(text:find("zero_grad", 1, true))
    assert.equal((help.text()), (help.text(heed)))
    assert.matches("^heed: tensors, gradients", tostring(help))
  end)

  it("stays within 78 columns, except in code", function()
    for _, entry in ipairs(help.entries()) do
      for line in help.text(entry.path):gmatch "[^\n]+" do
        if not line:find "^    " and #line > 78 then
          assert.matches(entry.name .. "(", line, 1, true)
        end
      end
    end
  end)

  it("knows what the overview names", function()
    local text = help.text()
    for name in text:gmatch "heed%.([a-z]+)[ ,.]" do
      assert.not_nil(heed[name], name)
    end
    assert.is_table(entry_of "heed.help.text")
  end)

  it("refuses a word that is none, and unknown options", function()
    assert.error_matches(function() help.search(1) end,
      "search: word must be a string, got 1", 1, true)
    assert.error_matches(function() help.text("x", {colour = true}) end,
      'help: unknown option "colour"; known: color', 1, true)
  end)
end)
