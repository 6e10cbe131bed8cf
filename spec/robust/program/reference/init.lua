--- reference: what the ops of the op table give, in plain Lua: for each
-- {draw =, run =} and
--
--   rough     it has no gradient that differences would show, or gives other
--             dtypes than float64: not for smooth programs
--   in_place  writes to its first argument
--
-- and the reasons for which others are left out.

local ops = {}
for _, family in ipairs {
  "arithmetic", "functions", "choices", "views", "copies", "reductions",
  "orders", "places", "searches", "products", "matrices", "network",
  "windows",
} do
  local part = require("spec.robust.program.reference." .. family).ops
  for name, op in pairs(part) do
    assert(not ops[name], "two references for " .. name)
    ops[name] = op
  end
end

local RANDOM <const> = "random: spec/tensor/random_spec.lua has its numbers"
local FACTORS <const> = "not unique: spec/linalg_spec.lua checks what it gives"
local STEP <const> = "a step of an optimiser: spec/optim has its values"

--- Why an op has no reference, by its name.
local excused <const> = {
  empty = "its elements may be anything",
  rand = RANDOM, randn = RANDOM, randint = RANDOM, randperm = RANDOM,
  bernoulli = RANDOM, multinomial = RANDOM, normal_ = RANDOM,
  uniform_ = RANDOM, bernoulli_ = RANDOM,
  qr = FACTORS, svd = FACTORS, svdvals = FACTORS, eigh = FACTORS,
  eigvalsh = FACTORS, pinv = FACTORS, lstsq = FACTORS,
  attention = "spec/nn/attention_sweep_spec.lua has a reference of its own",
  ctc_loss = "spec/nn/ctc_spec.lua goes through all paths",
  recurrent = "spec/nn/recurrent_spec.lua goes through its steps",
  col2im = "the gradient of im2col, which is compared",
  convolution_input = "the gradient of convolution, which is compared",
  max_unpool = "the gradient of max_pool, which is compared",
  adam_ = STEP, adamax_ = STEP, sgd_ = STEP, rmsprop_ = STEP,
  adagrad_ = STEP, lion_ = STEP, lamb_ = STEP, adafactor_ = STEP,
  joint_scale_ = STEP, joint_clamp_ = STEP, joint_lerp_ = STEP,
}

return {ops = ops, excused = excused}
