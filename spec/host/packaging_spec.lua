-- What says the version, and what lists the options of the program, agrees.

local heed = require "heed"
local command = require "spec.host.command"

local build = os.getenv("HEED_BUILD") or "build"

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read("a")
end

describe("the version", function()
  -- the one place that the others follow
  local version = read("CMakeLists.txt"):match(
    "project%(heed VERSION (%d+%.%d+%.%d+)")

  it("is that of heed.h", function()
    local header, parts = read("src/heed.h"), {}
    for i, name in ipairs({"MAJOR", "MINOR", "PATCH"}) do
      parts[i] = header:match("#define HEED_VERSION_" .. name .. " (%d+)\n")
    end
    assert.equal(version, table.concat(parts, "."))
    assert.equal(version, header:match('/%* "([%d.]+)"%. [^*]*%*/\n'
      .. "HEED_API const char %*heed_version"))
  end)

  it("is that of the rockspec, by name and by content", function()
    local names = {}
    for name in assert(io.popen("ls *.rockspec")):lines() do
      names[#names + 1] = name
    end
    assert.are.same({"heed-" .. version .. "-1.rockspec"}, names)
    local spec = {}
    assert(loadfile(names[1], "t", spec))()
    assert.equal(version .. "-1", spec.version)
  end)

  it("is what CHANGELOG.md begins with", function()
    assert.equal(version, read("CHANGELOG.md"):match("\n## (%S+)"))
  end)

  it("is what the module and the program say", function()
    assert.equal(version, heed.version)
    local _, out = command.heed({"-v"})
    assert.equal(version, out:match("^heed (%S+)"))
  end)

  it("is that of what the build makes for others", function()
    assert.equal(version, read(build .. "/heed.pc"):match("Version: (%S+)"))
    assert.equal(version, read(build .. "/heed.1"):match('"heed (%S+)"'))
    assert.equal(version, read(build .. "/heedConfigVersion.cmake"):match(
      'PACKAGE_VERSION "(%S+)"'))
  end)
end)

describe("the options of the program", function()
  -- the words of `text` that are options, sorted, each once
  local function options_in(text, pattern)
    local seen, list = {}, {}
    for option in text:gmatch(pattern) do
      if not seen[option] then list[#list + 1] = option end
      seen[option] = true
    end
    table.sort(list)
    return list
  end

  local _, help = command.heed({"--help"})
  local options = options_in(help, "\n  (%-%S*)")

  it("stand in the manual page", function()
    local page = read("packaging/heed.1.in"):match("\n%.SH OPTIONS\n(.-)\n%.SH")
    page = page:gsub("\\%-", "-")
    assert.are.same(options, options_in(page, "\n%.B[I]? (%-%S*)"))
  end)

  it("are completed by bash", function()
    if not os.execute("command -v bash >/dev/null") then return end
    local _, out = command.shell("bash -c '. packaging/heed.bash; "
      .. "COMP_WORDS=(heed -) COMP_CWORD=1; _heed; "
      .. "printf \"%s\\n\" \"${COMPREPLY[@]}\"'")
    local completed = options_in("\n" .. out, "\n(%-[^\n]*)")
    -- "-" is what was typed
    table.insert(completed, "-")
    table.sort(completed)
    assert.are.same(options, completed)
  end)

  it("leave the names of files behind a script", function()
    if not os.execute("command -v bash >/dev/null") then return end
    local _, out = command.shell("bash -c '. packaging/heed.bash; "
      .. "COMP_WORDS=(heed tools/count.lua READ) COMP_CWORD=2; _heed; "
      .. "printf \"%s\\n\" \"${COMPREPLY[@]}\"'")
    assert.equal("README.md\n", out)
  end)
end)
