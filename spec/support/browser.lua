--- browser: a headless Chromium for specs, driven by its chromedriver: W3C
-- WebDriver, JSON over HTTP, with real mouse and keyboard events.

local cjson = require "cjson"

local has_http <const>, http = pcall(require, "socket.http")
local has_ltn12 <const>, ltn12 = pcall(require, "ltn12")

local Browser = {}
Browser.__index = Browser

-- The key that an element's id has in WebDriver.
local ELEMENT <const> = "element-6066-11e4-a52e-4f735466cecf"

local browser = {
  --- Keys that are no characters, as WebDriver names them.
  keys = {
    tab = "\u{E004}", shift = "\u{E008}", enter = "\u{E007}",
    escape = "\u{E00C}", left = "\u{E012}", up = "\u{E013}",
    right = "\u{E014}", down = "\u{E015}", home = "\u{E011}", ["end"] =
    "\u{E010}",
  },
}

--- Returns nil, or what is missing.
function browser.missing()
  if not (has_http and has_ltn12) then return "lua-socket is not installed" end
  for _, name in ipairs {"chromedriver", "chromium"} do
    if not os.execute("command -v " .. name .. " >/dev/null") then
      return name .. " is not installed (Debian: apt install chromium-driver)"
    end
  end
end

local function request(self, method, path, body)
  local text <const> = body and cjson.encode(body)
  local answer = {}
  local ok, status = http.request {
    method = method, url = self.url .. path, sink = ltn12.sink.table(answer),
    source = text and ltn12.source.string(text),
    headers = text and {["content-length"] = #text,
      ["content-type"] = "application/json"},
  }
  assert(ok, status)
  local value <const> = cjson.decode(table.concat(answer)).value
  if status ~= 200 then error(value.error .. ": " .. value.message, 2) end
  return value
end

--- Starts a browser with a window of a size.
function browser.open(columns, rows)
  http.TIMEOUT = 120
  local pipe = assert(io.popen("echo $$; exec chromedriver --port=0 2>&1"))
  local self = setmetatable({pipe = pipe, pid = pipe:read("n")}, Browser)
  local port
  repeat
    local line = assert(pipe:read("l"), "chromedriver did not start")
    port = line:match("started successfully on port (%d+)")
  until port
  self.url = "http://127.0.0.1:" .. port
  local session <const> = request(self, "POST", "/session", {
    capabilities = {alwaysMatch = {
      browserName = "chrome",
      ["goog:chromeOptions"] = {
        args = {"--headless=new", "--no-sandbox", "--disable-gpu",
          "--disable-dev-shm-usage", "--hide-scrollbars",
          ("--window-size=%d,%d"):format(columns, rows)},
      },
      ["goog:loggingPrefs"] = {browser = "ALL"},
    }},
  })
  self.url = self.url .. "/session/" .. session.sessionId
  self:size(columns, rows)
  return self
end

--- Ends the browser. Without this Lua would wait for it at its own end.
function Browser:close()
  if not self.pipe then return end
  pcall(request, self, "DELETE", "")
  os.execute("kill " .. self.pid)
  self.pipe:close()
  self.pipe = nil
end

Browser.__gc, Browser.__close = Browser.close, Browser.close

--- Sends a command of Chromium's own protocol.
function Browser:command(name, params)
  return request(self, "POST", "/goog/cdp/execute",
    {cmd = name, params = params})
end

--- Gives the page a size.
function Browser:size(columns, rows, scale)
  self:command("Emulation.setDeviceMetricsOverride", {width = columns,
    height = rows, deviceScaleFactor = scale or 1, mobile = false})
end

--- Sets the colour scheme, "light" or "dark".
function Browser:scheme(name)
  self:command("Emulation.setEmulatedMedia",
    {features = {{name = "prefers-color-scheme", value = name}}})
end

function Browser:go(url) request(self, "POST", "/url", {url = url}) end

--- What JavaScript returns, of the further arguments if any (`arguments[0]`).
function Browser:run(script, ...)
  -- an empty table would become an object
  return request(self, "POST", "/execute/sync",
    {script = script, args = {..., select("#", ...) == 0 and 0 or nil}})
end

local function find(self, selector)
  return request(self, "POST", "/element",
    {using = "css selector", value = selector})[ELEMENT]
end

-- Moves the mouse to the middle of an element, with more to do there.
local function mouse(self, selector, more)
  self:run("document.querySelector(arguments[0]).scrollIntoView("
    .. "{block: 'center'})", selector)
  local actions = {{type = "pointerMove", duration = 0, x = 0, y = 0,
    origin = {[ELEMENT] = find(self, selector)}}}
  table.move(more, 1, #more, 2, actions)
  request(self, "POST", "/actions", {actions = {{type = "pointer", id = "mouse",
    parameters = {pointerType = "mouse"}, actions = actions}}})
end

--- Puts the mouse on the first element of a selector.
function Browser:hover(selector) mouse(self, selector, {}) end

--- Clicks on it.
function Browser:click(selector)
  mouse(self, selector, {{type = "pointerDown", button = 0},
    {type = "pointerUp", button = 0}})
end

--- Taps on it with a finger.
function Browser:tap(selector)
  request(self, "POST", "/actions", {actions = {{type = "pointer",
    id = "finger", parameters = {pointerType = "touch"}, actions = {
      {type = "pointerMove", duration = 0, x = 0, y = 0,
        origin = {[ELEMENT] = find(self, selector)}},
      {type = "pointerDown", button = 0}, {type = "pointerUp", button = 0},
    }}}})
end

--- Presses keys one after another, those before the last held down.
function Browser:press(...)
  local actions = {}
  local keys <const> = {...}
  for _, key in ipairs(keys) do
    actions[#actions + 1] = {type = "keyDown", value = key}
  end
  for i = #keys, 1, -1 do
    actions[#actions + 1] = {type = "keyUp", value = keys[i]}
  end
  request(self, "POST", "/actions",
    {actions = {{type = "key", id = "keyboard", actions = actions}}})
end

--- The role and the name of an element, as a screen reader has them.
function Browser:accessible(selector)
  local path <const> = "/element/" .. find(self, selector)
  return request(self, "GET", path .. "/computedrole"),
    request(self, "GET", path .. "/computedlabel")
end

--- What the page wrote to the console, errors too: a list of texts.
function Browser:console()
  local lines = {}
  for i, entry in ipairs(request(self, "POST", "/se/log", {type = "browser"}))
  do
    lines[i] = entry.message
  end
  return lines
end

--- The picture of the page, PNG in base64.
function Browser:screenshot() return request(self, "GET", "/screenshot") end

return browser
