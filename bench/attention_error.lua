--[[
How far from exact is attention in float32? The half of heed: answers each line

    INPUTS RESULTS [causal]

with a line when it has read q, k, v, up and perhaps bias from the file INPUTS
and written out, dq, dk and dv to RESULTS, gradients of sum(out * up).
bench/attention_error_torch.py asks, and compares with float64 and PyTorch.

    python bench/attention_error_torch.py [threads] [heed program]
]]

local heed = require "heed"
local F <const> = heed.nn.functional

heed.set_num_threads(math.tointeger(tonumber(arg[1] or 2)))

local function answer(inputs, results, causal)
  local t <const> = heed.load_safetensors(inputs)
  for _, name in ipairs {"q", "k", "v"} do t[name].requires_grad = true end
  local out <const> = F.scaled_dot_product_attention(t.q, t.k, t.v,
    {causal = causal == "causal", bias = t.bias})
  out:backward(t.up)
  heed.save_safetensors(results,
    {out = out:detach(), dq = t.q.grad, dk = t.k.grad, dv = t.v.grad})
end

for line in io.lines() do
  answer(line:match "^(%S+) (%S+) ?(%S*)$")
  io.write "0\n"
  io.flush()
end
