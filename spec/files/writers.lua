-- Whatever heed writes: a list of {name, file, write, op}. `write(path, large)`
-- writes something small, or more than 10 KB; messages open with `op`. Run as a
-- script, it writes large things into the files of a folder and prints what
-- happens to each:
--
--     lua writers.lua FOLDER [SMALL]

local heed = require "heed"

local nn <const>, text <const> = heed.nn, heed.text

-- What does not become small when it is compressed.
local function numbers(large)
  heed.manual_seed(1)
  return heed.rand(large and 5000 or 10)
end

local function picture(large)
  heed.manual_seed(1)
  local n <const> = large and 100 or 4
  return heed.randint(0, 256, {3, n, n}):to "uint8"
end

local function matrix(large)
  heed.manual_seed(1)
  local n <const> = large and 80 or 2
  return heed.rand {n, n}
end

local function words(large)
  local list <const> = {}
  for i = 1, large and 2000 or 5 do list[i] = ("word%d"):format(i) end
  return list
end

local function attention(large)
  local list <const>, n <const> = {}, large and 60 or 2
  for i = 1, n do list[i] = "w" .. i end
  return {{tokens = list, weights = heed.full({n, n}, 1 / n)}}
end

local writers <const> = {
  {"save_npy", "x.npy", function(path, large)
    heed.save_npy(path, numbers(large))
  end},
  {"save_npz", "x.npz", function(path, large)
    heed.save_npz(path, {x = numbers(large)})
  end},
  {"save_npz", "small.npz", function(path, large)
    heed.save_npz(path, {x = numbers(large)}, {compressed = true})
  end},
  {"save_safetensors", "x.safetensors", function(path, large)
    heed.save_safetensors(path, {x = numbers(large)})
  end},
  {"save_npy", "save.npy", function(path, large)
    heed.save(path, numbers(large))
  end},
  {"tofile", "x.bin", function(path, large) numbers(large):tofile(path) end},
  {"save_safetensors", "checkpoint", function(path, large)
    heed.train.save(path, {net = nn.Linear(60, large and 60 or 2)},
      {epoch = 1})
  end},
  {"Vocabulary.save", "vocabulary.json", function(path, large)
    text.Vocabulary.build({words(large)}):save(path)
  end},
  {"Words.save", "words.json", function(path, large)
    text.Words.train({table.concat(words(large), " ")}):save(path)
  end},
  {"image.write", "x.png", function(path, large)
    heed.image.write(path, picture(large))
  end},
  {"image.write", "x.jpg", function(path, large)
    heed.image.write(path, picture(large))
  end},
  {"image.write", "x.ppm", function(path, large)
    heed.image.write(path, picture(large))
  end},
  {"attention_html", "x.html", function(path, large)
    heed.plot.attention_html(attention(large), {file = path})
  end},
  {"write_file_atomic", "x.txt", function(path, large)
    heed.core.write_file_atomic(path, ("x"):rep(large and 100000 or 10))
  end},
}

-- Pictures that gnuplot draws.
if os.execute "command -v gnuplot >/dev/null" then
  for _, kind in ipairs {"svg", "png", "pdf"} do
    writers[#writers + 1] = {"heatmap", "plot." .. kind,
      function(path, large)
        heed.plot.heatmap(matrix(large), {file = path})
      end}
  end
end

local list <const> = {}
for i, writer in ipairs(writers) do
  list[i] = {op = writer[1], file = writer[2], write = writer[3]}
end

if arg and arg[0] and arg[0]:find "writers%.lua$" then
  local folder <const>, large <const> = arg[1], not arg[2]
  for _, writer in ipairs(list) do
    local path <const> = folder .. "/" .. writer.file
    local ok <const>, why = pcall(writer.write, path, large)
    print(writer.file, ok, not ok and why:gsub("^[^:]*:%d+: ", "") or "")
  end
end

return list
