--[[
How large is a page of plot.attention_html with 200 tokens, 6 layers, 8 heads
and 3 attentions, how long does it take to write, and how long does a browser
take to open it and to show a token? Needs chromium-driver and lua-socket.

    lua5.4 bench/attention_html.lua        in the root of the sources

"shown" is script, style and layout of one token, "painted" from the event of a
real mouse to the picture on the screen, which Chromium rounds to 8 ms.
]]

local heed = require "heed"
local browser = require "spec.support.browser"

local T <const>, LAYERS <const>, HEADS <const> = 200, 6, 8

heed.manual_seed(1)
local tokens = {}
for i = 1, T do tokens[i] = ("token"):sub(1, i % 5 + 1) end

-- Softmax of scores with a deviation of 2: few large weights, many small ones.
local function draw(causal)
  local scores = heed.randn(LAYERS, HEADS, T, T):mul(2)
  if causal then
    scores = scores:masked_fill(heed.ones(T, T):triu(1):to "bool", -math.huge)
  end
  return scores:softmax(-1)
end

local attentions <const> = {
  {name = "encoder", tokens = tokens, weights = draw()},
  {name = "decoder", tokens = tokens, weights = draw(true)},
  {name = "decoder to encoder", tokens = tokens, weights = draw()},
}
local file = os.tmpname()
os.remove(file)
file = file .. ".html"
local start = os.clock()
heed.plot.attention_html(attentions, {file = file})
local handle <const> = assert(io.open(file))
print(("written     %.2f s, %.1f MB"):format(os.clock() - start,
  handle:seek "end" / 1e6))
handle:close()

local b <close> = browser.open(1280, 900)
b:go("file://" .. file)
print(("opened      %.0f ms"):format(b:run [[
  const times = performance.getEntriesByType("navigation")[0];
  return times.loadEventEnd - times.startTime;]]))

local function report(name, times)
  table.sort(times)
  print(("%-11s %.1f ms median, %.1f ms at most, of %d"):format(name,
    times[(#times + 1) // 2], times[#times], #times))
end

report("layer", b:run [[
  const inputs = [...document.querySelectorAll("#layer input")].slice(1);
  return inputs.map((input) => {
    const start = performance.now();
    input.click();
    document.body.getBoundingClientRect();
    return performance.now() - start;
  });]])

report("shown", b:run [[
  return [...document.querySelectorAll("#queries .cell")].map((cell) => {
    const start = performance.now();
    cell.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    document.body.getBoundingClientRect();
    return performance.now() - start;
  });]])

b:run [[
  window.painted = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.name === "pointerover") painted.push(entry.duration);
    }
  }).observe({ type: "event", durationThreshold: 16 });]]
for i = 1, 60 do b:hover(("#queries .cell:nth-child(%d)"):format(i)) end
local painted <const> = b:run "return [16, ...painted]"
report("painted", painted)
os.remove(file)
