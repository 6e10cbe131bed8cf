local close = require "spec.support.close"
local heed = require "heed"
local message_of = require "spec.support.message"

local function message(...) return message_of(close.check, ...) end

describe("close.check", function()
  it("passes within atol + rtol * |want|", function()
    close.check("x", { 1.09, 110 }, { 1, 100 }, { atol = 0.1, rtol = 0.1 })
    close.check("x", heed.tensor { 1.0, 2.0 }, { 1, 2 })
    close.check("x", 2, heed.tensor(2))
  end)

  it("names what is compared, the worst place and both values", function()
    assert.matches("^x: tensors_close: 2 of 4 elements differ\n"
      .. "  got float32 %[2 2%], want list %[2 2%]\n"
      .. "  worst at %[2 1%]: got 5, want 3, ",
      message("x", heed.tensor { { 1, 2.5 }, { 5, 4 } },
        { { 1, 2 }, { 3, 4 } }))
  end)

  it("tells shapes apart, but not dtypes", function()
    assert.same("x: tensors_close: the shapes differ\n"
      .. "  got list [2], want list [1 2]",
      message("x", { 1, 2 }, { { 1, 2 } }))
    close.check("x", heed.tensor { 1, 0 }, heed.tensor { true, false })
  end)

  it("takes equal infinities, and no NaN", function()
    close.check("x", { math.huge }, { math.huge })
    assert.is_truthy(message("x", { 0 / 0 }, { 0 / 0 }):find("1 of 1"))
    assert.is_truthy(message("x", { math.huge }, { -math.huge }):find("1 of"))
    assert.is_truthy(message("x", { 1 }, { math.huge }):find("1 of 1"))
  end)
end)
