-- The golden runner computes in the dtype that a case names, mostly float64,
-- which has loops of its own. These specs hold the float32 loops to the same.

local cjson = require "cjson"
local heed = require "heed"
local attend = heed.nn.functional.scaled_dot_product_attention

-- How far the worst element is beyond what the case allows.
local function excess(got, want, case)
  local allowed = want:abs() * tonumber(case.rtol) + tonumber(case.atol)
  return ((got - want):abs() - allowed):max():item()
end

describe("attention in float32", function()
  for _, name in ipairs {"attn_plain", "attn_scale", "attn_shift_200",
      "attn_big_100", "attn_big_1e4", "attn_d1", "attn_d7", "attn_d80",
      "attn_d256", "attn_dv", "attn_long"} do
    it("meets the golden case " .. name .. ", gradients too", function()
      local t, case = heed.load_safetensors("spec/golden/" .. name
        .. ".safetensors")
      local inputs = {}
      for _, key in ipairs {"q", "k", "v", "bias"} do
        if t["input." .. key] then
          inputs[key] = t["input." .. key]:clone()
          inputs[key].requires_grad = true
        end
      end
      local out = attend(inputs.q, inputs.k, inputs.v,
        {scale = cjson.decode(case.params).scale, bias = inputs.bias})
      local compared = 0
      for key, want in pairs(t) do
        local output = key:match "^output%.(.*)$"
        if output and t["upstream." .. output] then
          assert.is_true(excess(out, want, case) <= 0, key)
          out:backward(t["upstream." .. output])
        end
      end
      for key, x in pairs(inputs) do
        local want = t["grad." .. key]
        assert.is_true(excess(x.grad, want, case) <= 0, "grad." .. key)
        compared = compared + 1
      end
      assert.equal(name == "attn_shift_200" and 4 or 3, compared)
    end)
  end

  -- What hides the last key, in every form.
  local hidden = {
    valid_lens = {valid_lens = heed.tensor {3}},
    key_mask = {key_mask = heed.tensor {{true, true, true, false}}},
    mask = {mask = heed.tensor {true, true, true, false}},
  }
  for name, description in pairs(hidden) do
    for _, softcap in ipairs {0, 5} do
      for _, bad in ipairs {0 / 0, math.huge} do
        it(("keeps %s behind %s out, with softcap %d"):format(bad, name,
            softcap), function()
          local function run(last)
            heed.manual_seed(0)
            local q = heed.randn({1, 2, 3, 8}, {requires_grad = true})
            local k, v = heed.randn {1, 2, 4, 8}, heed.randn {1, 2, 4, 8}
            k[{1, {}, 4}], v[{1, {}, 4}] = last, last
            k.requires_grad, v.requires_grad = true, true
            local o = {softcap = softcap > 0 and softcap or nil}
            for key, value in pairs(description) do o[key] = value end
            local y = attend(q, k, v, o)
            y:sum():backward()
            return {y, q.grad, k.grad, v.grad}
          end
          local clean, dirty = run(0), run(bad)
          for i = 1, 4 do
            assert.is_true(clean[i]:eq(dirty[i]):all():item(), "result " .. i)
          end
        end)
      end
    end
  end
end)
