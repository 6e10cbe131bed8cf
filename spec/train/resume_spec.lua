-- A run that is killed and started again ends in the same bytes as one that
-- never stopped.

local command = require "spec.host.command"
local heed = require "heed"

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

local interpreter = 0
while arg[interpreter - 1] do interpreter = interpreter - 1 end

local paths <const> = ("package.path, package.cpath = %q, %q"):format(
  package.path, package.cpath)

-- Runs the script, killed after some seconds if they are given; its exit code,
-- 0 when it came to its end.
local function run(folder, loader, kill, after)
  local words = {}
  for i, word in ipairs {arg[interpreter], "-e", paths,
    "spec/train/resume_run.lua", folder, loader, kill} do
    words[i] = command.quote(word)
  end
  local line = table.concat(words, " ")
  if after then line = ("timeout -s KILL %.3f %s"):format(after, line) end
  local code, _, text = command.shell(line)
  assert(code == 0 or code == 137, text)
  return code
end

local function new_folder()
  local pipe = assert(io.popen("mktemp -d"))
  local folder = pipe:read("l")
  pipe:close()
  return folder
end

local KILLED <const> = 137 -- 128 + SIGKILL

describe("a run that is killed", function()
  local folders, whole, seconds = {}, {}, nil

  setup(function()
    for _, loader in ipairs {"loader", "default", "generator"} do
      local folder = new_folder()
      folders[#folders + 1] = folder
      local start = heed.core.time()
      assert.equal(0, run(folder, loader, "whole"))
      seconds = heed.core.time() - start
      whole[loader] = {read(folder .. "/final.safetensors"),
        read(folder .. "/best.safetensors")}
    end
  end)

  teardown(function()
    for _, folder in ipairs(folders) do
      os.execute("rm -r '" .. folder .. "'")
    end
  end)

  local function check_same(loader, folder)
    assert.is_true(whole[loader][1] == read(folder .. "/final.safetensors"))
    assert.is_true(whole[loader][2] == read(folder .. "/best.safetensors"))
  end

  -- Each moment kills one process, which the next one follows.
  local MOMENTS <const> = {
    default = {
      "step:1", -- before the first checkpoint
      "after_save:1", "loss:5", -- among the batches of one step
      "step:2", "before:2", "valid:1", "before:1", "after_save:2", "epoch:1",
      "loss:2", "step:3", "epoch:1",
    },
    loader = {"loss:8", "epoch:1", "loss:7", "before:3", "valid:2"},
    generator = {"loss:6", "valid:1", "step:3", "epoch:2"},
  }

  for loader, moments in pairs(MOMENTS) do
    it("goes on exactly, with batches of kind " .. loader, function()
      local folder = new_folder()
      folders[#folders + 1] = folder
      for _, kill in ipairs(moments) do
        assert.equal(KILLED, run(folder, loader, kill), kill)
      end
      assert.equal(0, run(folder, loader, "none"))
      check_same(loader, folder)
    end)
  end

  -- Kills a run again and again until it comes to its end; how often it was.
  local function kill_often(generator)
    local folder, kills = new_folder(), 0
    folders[#folders + 1] = folder
    repeat
      local part = 0.2 + generator:draw() % 1000 / 1000
      local code = run(folder, "default", "none", part * seconds)
      if code == KILLED then kills = kills + 1 end
    until code == 0 or kills == 30
    assert.equal(0, run(folder, "default", "none"))
    check_same("default", folder)
    return kills
  end

  it("goes on exactly from any moment", function()
    local generator, kills = heed.Generator(os.time()), 0
    local wanted = os.getenv "HEED_LONG" and 100 or 1
    while kills < wanted do kills = kills + kill_often(generator) end
  end)
end)
