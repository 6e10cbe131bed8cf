--- Activations by the names that the hub's models give them.

local ops <const> = require "heed.core".ops

local function gelu_tanh(x) return ops.gelu(x, "tanh") end

return {
  gelu = ops.gelu, gelu_new = gelu_tanh, gelu_pytorch_tanh = gelu_tanh,
  gelu_fast = gelu_tanh, relu = ops.relu, silu = ops.silu, swish = ops.silu,
  tanh = ops.tanh,
}
