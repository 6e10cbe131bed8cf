--- rows: what spec/ops_table_spec.lua tries with each op of the op table.
--
-- A row is a table by the op's name:
--
--   cases    list of argument lists. They should have broadcasting, sizes of 0
--            and 1 and every dtype that the op takes. Float tensors are
--            float64; the same is run in float32 and with views as inputs.
--   errors   list of {argument list, literal message}
--   value    for elementwise ops: a Lua function of numbers that gives the
--            result's elements
--   from     a function of an argument list that gives the list to call with,
--            for ops that want special matrices: symmetric ones, say
--   skip     keys of arguments that have no gradient (settings, such as class
--            weights)
--   given    variables for the code of the op's usage
--   seeded   draws from the default generator, which is seeded before a call
--   no_views the op wants inputs that lie in one piece
--   own_stream  float32 draws other numbers than float64
--   atol32   how far float32 may be from float64, 1e-5 by default

local rows = {}

for _, family in ipairs {
  "arithmetic", "maths", "activation", "choose", "compare", "convert", "make",
  "shape", "index", "order",
  "reduce", "softmax", "network", "image", "attention", "additive", "random",
  "optim", "linalg",
} do
  for name, row in pairs(require("spec.ops.rows." .. family)) do
    assert(not rows[name], "two rows for " .. name)
    rows[name] = row
  end
end

return rows
