local heed = require "heed"
local message = require "spec.support.message"

-- The lines of a text, compared one by one for a readable difference.
local function prints(lines, value)
  assert.are.equal(table.concat(lines, "\n"), tostring(value))
end

describe("a tensor as text", function()
  after_each(function() heed.set_printoptions() end)

  it("shows integers without a point", function()
    prints({"[  1  -20    3]", "heed.tensor int64 (3)"},
           heed.tensor {1, -20, 3})
  end)

  it("shows floats with four digits, aligned", function()
    prints({
      "[[  1.5000   -0.2500]",
      " [ 12.0000  100.1235]]",
      "heed.tensor float32 (2, 2)",
    }, heed.tensor {{1.5, -0.25}, {12, 100.12346}})
  end)

  it("shows floats without fractions with a point only", function()
    prints({"[ 1.  -2.   0.]", "heed.tensor float64 (3)"},
           heed.tensor({1, -2, 0}, {dtype = "float64"}))
  end)

  it("shows booleans as words", function()
    prints({"[[ true  false]]", "heed.tensor bool (1, 2)"},
           heed.tensor {{true, false}})
  end)

  it("aligns nan and the infinities with the numbers", function()
    prints({"[ nan   inf  -inf    1.]", "heed.tensor float32 (4)"},
           heed.tensor {0 / 0, 1 / 0, -1 / 0, 1})
    prints({"[   nan  0.5000]", "heed.tensor float32 (2)"},
           heed.tensor {0 / 0, 0.5})
  end)

  it("shows no sign of nan", function()
    prints({"[nan  nan]", "heed.tensor float32 (2)"},
           heed.tensor {0 / 0, -(0 / 0)})
  end)

  it("turns scientific for small values", function()
    prints({"[5.0000e-05  1.0000e-02]", "heed.tensor float32 (2)"},
           heed.tensor {5e-5, 0.01})
  end)

  it("turns scientific for large values", function()
    prints({"[2.0000e+08]", "heed.tensor float32 (1)"}, heed.tensor {2e8})
  end)

  it("turns scientific when values are more than 1000 times apart",
     function()
    prints({"[ 1.0000e+00  -1.0010e+03]", "heed.tensor float32 (2)"},
           heed.tensor {1.0, -1001})
    prints({"[    1.  -1000.]", "heed.tensor float32 (2)"},
           heed.tensor {1.0, -1000})
  end)

  it("takes 0 for no reason to turn scientific", function()
    prints({"[  0.0000  999.5000]", "heed.tensor float32 (2)"},
           heed.tensor {0.0, 999.5})
  end)

  it("shows all digits of large integers", function()
    prints({"[-9223372036854775808                     1]",
            "heed.tensor int64 (2)"}, heed.tensor {math.mininteger, 1})
  end)

  it("shows one number on one line", function()
    prints({"3.1416  heed.tensor float32 ()"}, heed.tensor(3.14159))
    prints({"7  heed.tensor int64 ()"}, heed.tensor(7))
  end)

  it("says the shape of an empty tensor", function()
    prints({"[]", "heed.tensor float32 (0, 3)"}, heed.zeros(0, 3))
    prints({"[]", "heed.tensor float32 (0)"}, heed.zeros(0))
  end)

  it("says when gradients are tracked", function()
    local x = heed.tensor({0.5}, {requires_grad = true})
    prints({"[0.5000]", "heed.tensor float32 (1) requires_grad"}, x)
    prints({"[1.]", "heed.tensor float32 (1) requires_grad"}, x * 2)
    prints({"[0.5000]", "heed.tensor float32 (1)"}, x:detach())
  end)

  it("leaves a line free between matrices", function()
    prints({
      "[[[1  2]",
      "  [3  4]]",
      "",
      " [[5  6]",
      "  [7  8]]]",
      "heed.tensor int64 (2, 2, 2)",
    }, heed.arange(1, 8):reshape(2, 2, 2))
  end)

  it("shows views by their own order", function()
    prints({"[[1  3]", " [2  4]]", "heed.tensor int64 (2, 2)"},
           heed.tensor {{1, 2}, {3, 4}}:transpose())
    prints({"[5  3]", "heed.tensor int64 (2)"},
           heed.arange(1, 5)[{{-1, 3, -2}}])
  end)

  it("breaks long rows", function()
    prints({
      "[100000001  100000002  100000003  100000004  100000005  100000006  "
        .. "100000007",
      " 100000008  100000009]",
      "heed.tensor int64 (9)",
    }, heed.arange(1, 9) + 100000000)
  end)

  it("shows up to 1000 elements in full", function()
    local text = tostring(heed.arange(1, 1000))
    assert.is_nil(text:find("...", 1, true))
  end)

  it("cuts long dimensions of more than 1000 elements", function()
    prints({"[   1     2     3  ...   999  1000  1001]",
            "heed.tensor int64 (1001)"}, heed.arange(1, 1001))
    prints({
      "[[  1    2    3  ...  198  199  200]",
      " [201  202  203  ...  398  399  400]",
      " [401  402  403  ...  598  599  600]",
      " [601  602  603  ...  798  799  800]",
      " [801  802  803  ...  998  999    0]",
      " [  1    2    3  ...  198  199  200]]",
      "heed.tensor int64 (6, 200)",
    }, heed.arange(1, 1200):reshape(6, 200) % 1000)
    prints({
      "[[[0.  0.]",
      "  [0.  0.]]",
      "",
      " [[0.  0.]",
      "  [0.  0.]]",
      "",
      " [[0.  0.]",
      "  [0.  0.]]",
      "",
      " ...",
      "",
      " [[0.  0.]",
      "  [0.  0.]]",
      "",
      " [[0.  0.]",
      "  [0.  0.]]",
      "",
      " [[0.  0.]",
      "  [0.  0.]]]",
      "heed.tensor float32 (300, 2, 2)",
    }, heed.zeros(300, 2, 2))
  end)

  it("takes the form from the values that are shown", function()
    local x = heed.ones(2000)
    x[1000] = 1e12
    prints({"[1.  1.  1.  ...  1.  1.  1.]", "heed.tensor float32 (2000)"},
           x)
  end)

  it("shows fewer ends of more dimensions", function()
    local text = tostring(heed.zeros(9, 9, 9, 9))
    local _, shown = text:gsub("0%.", "")
    assert.are.equal(4 ^ 4, shown)
  end)

  it("reads only what it shows", function()
    -- 200 GB, if all were read
    local huge = heed.ones(1, 1):expand(500000, 100000)
    prints({
      "[[1.  1.  1.  ...  1.  1.  1.]",
      " [1.  1.  1.  ...  1.  1.  1.]",
      " [1.  1.  1.  ...  1.  1.  1.]",
      " ...",
      " [1.  1.  1.  ...  1.  1.  1.]",
      " [1.  1.  1.  ...  1.  1.  1.]",
      " [1.  1.  1.  ...  1.  1.  1.]]",
      "heed.tensor float32 (500000, 100000)",
    }, huge)
  end)

  it("says when the tensor was closed", function()
    local kept
    do
      local x <close> = heed.zeros(2)
      kept = x
    end
    prints({"heed.tensor (closed)"}, kept)
  end)
end)

describe("set_printoptions", function()
  after_each(function() heed.set_printoptions() end)

  it("sets the digits", function()
    heed.set_printoptions {precision = 2}
    prints({"[0.33  1.00]", "heed.tensor float32 (2)"},
           heed.tensor {1 / 3, 1})
    heed.set_printoptions {precision = 0}
    prints({"[0.]", "heed.tensor float32 (1)"}, heed.tensor {1 / 3})
    prints({"[1.e-06]", "heed.tensor float32 (1)"}, heed.tensor {1e-6})
  end)

  it("sets where tensors are cut, and how", function()
    heed.set_printoptions {threshold = 4, edgeitems = 1}
    prints({"[1  ...  5]", "heed.tensor int64 (5)"}, heed.arange(1, 5))
    prints({"[1  2  3  4]", "heed.tensor int64 (4)"}, heed.arange(1, 4))
    heed.set_printoptions {threshold = math.huge}
    prints({"[1  2  3  4  5]", "heed.tensor int64 (5)"}, heed.arange(1, 5))
  end)

  it("sets the length of lines", function()
    heed.set_printoptions {linewidth = 9}
    prints({"[1  2  3", " 4  5]", "heed.tensor int64 (5)"},
           heed.arange(1, 5))
    heed.set_printoptions {linewidth = 1}
    prints({"[1", " 2]", "heed.tensor int64 (2)"}, heed.arange(1, 2))
  end)

  it("keeps what is not given, and goes back without a table", function()
    heed.set_printoptions {precision = 1}
    heed.set_printoptions {linewidth = 40}
    prints({"[0.5]", "heed.tensor float32 (1)"}, heed.tensor {0.5})
    heed.set_printoptions()
    prints({"[0.5000]", "heed.tensor float32 (1)"}, heed.tensor {0.5})
  end)

  it("changes nothing when it fails", function()
    assert.are.equal(
      "set_printoptions: precision must be an integer from 0 to 20, got 21",
      message(heed.set_printoptions, {precision = 21}))
    prints({"[0.5000]", "heed.tensor float32 (1)"}, heed.tensor {0.5})
  end)

  it("names what it knows and wants", function()
    assert.are.equal(
      "set_printoptions: unknown option \"digits\"; known: precision, "
        .. "threshold, edgeitems, linewidth",
      message(heed.set_printoptions, {digits = 2}))
    assert.are.equal(
      "set_printoptions: threshold must be an integer from 0 on or "
        .. "math.huge, got -1", message(heed.set_printoptions,
                                        {threshold = -1}))
    assert.are.equal(
      "set_printoptions: edgeitems must be an integer from 1 to 1000, got 0.5",
      message(heed.set_printoptions, {edgeitems = 0.5}))
    assert.are.equal("set_printoptions: options must be a table, got 3",
                     message(heed.set_printoptions, 3))
  end)
end)
