-- A process that may have only so much memory (ulimit -v).

local PROGRAM <const> = os.getenv "HEED_PROGRAM" or
  (os.getenv "HEED_BUILD" or "build") .. "/heed"

-- Less than OpenBLAS, which waits for its buffers for ever, wants to start.
local LEAST <const> = 450000

describe("a process with little memory", function()
  for _, kilobytes in ipairs {LEAST, 600000} do
    it(("raises and goes on with %d KB"):format(kilobytes), function()
      if os.getenv "HEED_SANITIZE" then
        return pending "sanitizers map more than the limit"
      end
      local pipe = assert(io.popen(("ulimit -v %d; OPENBLAS_NUM_THREADS=1 " ..
        "timeout -s ABRT 120 %s spec/robust/memory/bounded.lua 2>&1"):format(
        kilobytes, PROGRAM)))
      local out = pipe:read "a"
      pipe:close()
      assert.equal("all goes on\n", out)
    end)
  end
end)
