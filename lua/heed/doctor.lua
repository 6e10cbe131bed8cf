--- `heed doctor`: what of this machine and installation heed depends on, what
-- is slow about it, and what to do. Each check reports on one thing, in a line
-- of one of three kinds: `ok`; `note`, what can be lived with; `slow`, what
-- should be mended, which makes the exit code 1.

local core = require "heed.core"

local doctor = {}

local Report = {}
Report.__index = Report

function Report:add(kind, text, advice)
  self.bad = self.bad or kind == "slow"
  io.stdout:write(("%-5s %s\n"):format(kind, text))
  if advice then io.stdout:write("        ", advice, "\n") end
  io.stdout:flush()
end

local function read(path)
  local file <const> = io.open(path)
  if not file then return nil end
  local text <const> = file:read "a"
  file:close()
  return text
end

local function output(command)
  local pipe <const> = io.popen(command .. " 2>/dev/null")
  if not pipe then return "" end
  local text <const> = pipe:read "a"
  pipe:close()
  return text or ""
end

-- -- processor ---------------------------------------------------------------

-- Kernels of OpenBLAS that use the instructions of AVX2, or of AVX-512.
local WIDE <const> = {avx2 = {Haswell = true, Zen = true, SkylakeX = true,
  Cooperlake = true, Sapphirerapids = true}}
WIDE.avx512 = {SkylakeX = true, Cooperlake = true, Sapphirerapids = true}

local CORETYPE <const> = {avx2 = "Haswell", avx512 = "SkylakeX"}

local function check_blas(report)
  local config <const> = core.config()
  local isa <const>, kernel <const> = config.isa, config.blas_kernel
  local name <const> = config.blas:match "^%S+ %S+" or config.blas
  local text <const> = ("%s with its kernels for %s; heed's are for %s")
    :format(name, kernel, isa)
  if WIDE.avx2[kernel] == nil and isa ~= "baseline" and WIDE[isa] then
    report:add("slow", text, ("This OpenBLAS does not know the processor: set "
      .. "OPENBLAS_CORETYPE=%s in the environment."):format(CORETYPE[isa]))
  elseif WIDE[isa] and not WIDE[isa][kernel] then
    report:add("note", text, ("Large products may be faster with "
      .. "OPENBLAS_CORETYPE=%s in the environment: try."):format(CORETYPE[isa]))
  else
    report:add("ok", text)
  end
  if not config.blas:find "OPENMP" then
    report:add("slow", "OpenBLAS is not its OpenMP build: its threads compete "
      .. "with heed's", "On Debian: apt install libopenblas-openmp-dev, then "
      .. "build heed anew.")
  end
  local forced <const> = os.getenv "HEED_ISA"
  if forced and forced ~= "" then
    report:add("note", "HEED_ISA=" .. forced .. " chooses the instruction set")
  end
end

-- The processors that this process may use: by its mask and its quota.
local function processors()
  local list <const> = (read "/proc/self/status" or ""):match
    "Cpus_allowed_list:%s*(%S+)"
  if not list then return nil end
  local count = 0
  for range in list:gmatch "[^,]+" do
    local first, last = range:match "^(%d+)%-?(%d*)$"
    count = count + (tonumber(last) or tonumber(first)) - tonumber(first) + 1
  end
  local quota, period = (read "/sys/fs/cgroup/cpu.max" or ""):match
    "^(%d+) (%d+)"
  local share <const> = quota and tonumber(quota) / tonumber(period)
  return math.tointeger(count), share and share < count and share or nil
end

local function check_threads(report)
  local threads <const> = core.get_num_threads()
  local count, share = processors()
  if not count then
    report:add("note", ("%d threads; how many processors there are is unknown")
      :format(threads))
    return
  end
  local text = ("%d threads on %d processors"):format(threads, count)
  if share then text = ("%s, of which %.1f may be used"):format(text, share) end
  local limit <const> = share and math.max(1, math.floor(share)) or count
  if threads > limit then
    report:add("slow", text, ("Threads wait for one another: set "
      .. "OMP_NUM_THREADS=%d in the environment."):format(limit))
  elseif threads < limit // 2 then
    report:add("note", text, "heed.set_num_threads(n) or OMP_NUM_THREADS "
      .. "sets more.")
  else
    report:add("ok", text)
  end
end

-- -- measurements ------------------------------------------------------------

-- The shortest time of a function in several runs.
local function best(f, runs)
  f()
  local shortest = math.huge
  for _ = 1, runs do
    local start <const> = core.time()
    f()
    shortest = math.min(shortest, core.time() - start)
  end
  return shortest
end

local BUSY <const> = "Close what else computes, or ask whether the machine is "
  .. "shared or saves power."

-- Is more at work on this machine than there are processors?
local function is_busy()
  local load <const> = tonumber((read "/proc/loadavg" or ""):match "^%S+")
  local count <const> = processors()
  return load and count and load > count + 0.5
end

local function complain(report, text)
  if is_busy() then
    report:add("note", text, "Other programs are at work: ask again when "
      .. "they are done.")
  else
    report:add("slow", text, BUSY)
  end
end

local function check_memory(report)
  local n <const> = 16 << 20
  local x <const>, y <const> = core.ops.ones({n}), core.ops.zeros({n})
  local t <const> = best(function() y:copy_(x) end, 5)
  local rate <const> = 2 * 4 * n / t / 1e9
  local text <const> = ("%.1f GB/s of memory, reading and writing (10 and "
    .. "more are usual)"):format(rate)
  if rate < 4 then complain(report, text) else report:add("ok", text) end
end

-- The highest clock of the processor in GHz, or nil.
local function clock()
  local highest = tonumber(read
    "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
  if highest then return highest / 1e6 end
  for mhz in (read "/proc/cpuinfo" or ""):gmatch "cpu MHz%s*:%s*([%d.]+)" do
    highest = math.max(highest or 0, tonumber(mhz) / 1000)
  end
  return highest
end

-- Additions and multiplications of float32 in one cycle, with two units.
local PER_CYCLE <const> = {baseline = 16, avx2 = 32, avx512 = 64}

local function check_products(report)
  local n <const> = 1024
  local x <const> = core.ops.ones({n, n})
  local t <const> = best(function() return x:matmul(x) end, 5)
  local rate <const> = 2 * n ^ 3 / t / 1e9
  local threads <const>, ghz <const> = core.get_num_threads(), clock()
  local most <const> = ghz and PER_CYCLE[core.config().isa]
    and ghz * threads * PER_CYCLE[core.config().isa]
  if not most then
    report:add("ok", ("%.0f Gflop/s in products of matrices"):format(rate))
    return
  end
  local text <const> = ("%.0f Gflop/s in products of matrices, of %.0f at "
    .. "most"):format(rate, most)
  -- two threads may share one core, and wide units may run in turn
  if rate < 0.2 * most then
    complain(report, text)
  else
    report:add("ok", text)
  end
end

local function check_pages(report)
  local text <const> = read "/sys/kernel/mm/transparent_hugepage/enabled"
  local mode <const> = text and text:match "%[(%a+)%]"
  if mode == "never" then
    report:add("note", "huge pages are off", "Large tensors cost more page "
      .. "faults; as root: echo madvise > "
      .. "/sys/kernel/mm/transparent_hugepage/enabled")
  elseif mode then
    report:add("ok", "huge pages: " .. mode)
  end
end

-- -- what heed uses ----------------------------------------------------------

local function check_lua(report)
  report:add("ok", ("heed %s, %s"):format(core.version, _VERSION))
  if #require("heed.help").entries() == 0 then
    report:add("note", "the texts of heed.help are missing", "Install heed "
      .. "with cmake --install, which brings help_data.lua.")
  end
end

local function check_modules(report)
  local missing = {}
  for _, pair in ipairs {{"argparse", "lua-argparse"}, {"cjson", "lua-cjson"},
    {"lfs", "lua-filesystem"}, {"rex_pcre2", "lua-rex-pcre2"}} do
    if not pcall(require, pair[1]) then missing[#missing + 1] = pair[2] end
  end
  if #missing == 0 then
    report:add("ok", "the Lua modules argparse, cjson, lfs and rex_pcre2")
  else
    report:add("note", "without " .. table.concat(missing, ", ")
      .. " options of scripts, JSON, folders or tokenisers of models do not "
      .. "work",
      "On Debian: apt install " .. table.concat(missing, " "))
  end
end

local function check_gnuplot(report)
  local version <const> = output("gnuplot --version"):match "gnuplot ([%d.]+)"
  if not version then
    report:add("note", "no gnuplot: pictures in files cannot be made",
      "On Debian: apt install gnuplot-nox")
    return
  end
  local said <const> = output("gnuplot -e 'set terminal pngcairo' 2>&1")
  if said:find "%S" then
    report:add("note", ("gnuplot %s without pngcairo: no PNG files")
      :format(version), "On Debian: apt install gnuplot-nox")
    return
  end
  report:add("ok", ("gnuplot %s"):format(version))
  if not output("fc-list"):find "%S" then
    report:add("note", "no fonts are found for pictures",
      "On Debian: apt install fontconfig fonts-dejavu-core")
  end
end

local function check_terminal(report)
  local terminal <const> = require "heed.plot.terminal"
  if not terminal.isatty(io.stdout) then
    report:add("ok", "the output is no terminal: no colours")
    return
  end
  local text <const> = ("terminal %s, %d columns, %s, %s"):format(
    os.getenv "TERM" or "(TERM is not set)",
    terminal.columns("doctor", nil, io.stdout),
    terminal.has_color(io.stdout) and "24-bit colours" or "no 24-bit colours",
    terminal.is_utf8() and "UTF-8" or "no UTF-8")
  local advice
  if not terminal.is_utf8() then
    advice = "Set LANG=C.UTF-8 to see blocks instead of letters in plots."
  elseif not terminal.has_color(io.stdout) then
    advice = "If it can: COLORTERM=truecolor shows heat maps in colour."
  end
  report:add(advice and "note" or "ok", text, advice)
end

--- Checks all and writes what it finds to standard output.
-- @treturn boolean whether nothing is slow
function doctor.run()
  local report <const> = setmetatable({bad = false}, Report)
  require "heed"
  for _, check in ipairs {check_lua, check_blas, check_threads, check_memory,
    check_products, check_pages, check_modules, check_gnuplot,
    check_terminal} do
    check(report)
  end
  io.stdout:write(report.bad and "Something is slow; see above.\n"
    or "All is well.\n")
  return not report.bad
end

--- Writes the versions and what heed computes with to standard output.
-- @treturn boolean true
function doctor.version()
  local config <const> = core.config()
  io.stdout:write(("heed %s  %s\n%s, kernels for %s\ninstruction set %s, "
    .. "%d threads\n"):format(core.version, _VERSION,
    config.blas:match "^%S+ %S+" or config.blas, config.blas_kernel,
    config.isa, config.threads))
  return true
end

return doctor
