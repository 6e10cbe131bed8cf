-- The list of fonts is replaced by one that is known.
local function fonts_of(listing)
  local popen = io.popen
  package.loaded["heed.plot.fonts"] = nil
  local fonts = require "heed.plot.fonts"
  io.popen = function() -- luacheck: ignore
    return {
      lines = function() return listing:gmatch("[^\n]+") end,
      close = function() return true end,
    }
  end
  fonts.has(0x4E2D)
  io.popen = popen -- luacheck: ignore
  package.loaded["heed.plot.fonts"] = nil
  return fonts
end

describe("fonts", function()
  local listing <const> = "20-7e a0-17f 192\n4e00-9fff\n"

  it("have the characters that fontconfig lists", function()
    local fonts = fonts_of(listing)
    local found = {}
    for k, code in ipairs {0x41, 0xE9, 0x192, 0x193, 0x4E2D, 0x1F44D} do
      found[k] = fonts.has(code)
    end
    assert.same({true, true, true, false, true, false}, found)
  end)

  it("show what they do not have as an escape, joiners as they are", function()
    local fonts = fonts_of(listing)
    assert.equal("é中\\u{1F44D}\u{200D}\u{FE0F}",
      fonts.only_known("é中👍\u{200D}\u{FE0F}"))
  end)

  it("are taken to have everything where nobody knows", function()
    local fonts = fonts_of("")
    assert.equal("👍", fonts.only_known("👍"))
  end)
end)
