local terminal = require "heed.plot.terminal"

describe("terminal", function()
  local getenv, isatty = os.getenv, terminal.isatty
  local environment

  before_each(function()
    environment = {}
    os.getenv = function(name) return environment[name] end -- luacheck: ignore
    terminal.isatty = function() return true end
  end)

  after_each(function()
    os.getenv = getenv -- luacheck: ignore
    terminal.isatty = isatty
  end)

  it("has colours if COLORTERM says so and nothing speaks against", function()
    assert.is_false(terminal.has_color(io.stdout))
    environment.COLORTERM = "truecolor"
    assert.is_true(terminal.has_color(io.stdout))
    environment.COLORTERM = "24bit"
    assert.is_true(terminal.has_color(io.stdout))
    environment.NO_COLOR = "1"
    assert.is_false(terminal.has_color(io.stdout))
    environment.NO_COLOR = ""
    assert.is_true(terminal.has_color(io.stdout))
    environment.TERM = "dumb"
    assert.is_false(terminal.has_color(io.stdout))
    environment.TERM = nil
    terminal.isatty = function() return false end
    assert.is_false(terminal.has_color(io.stdout))
  end)

  it("takes the locale from the first variable that is set", function()
    assert.is_false(terminal.is_utf8())
    environment.LANG = "fr_FR.UTF-8"
    assert.is_true(terminal.is_utf8())
    environment.LC_CTYPE = "C"
    assert.is_false(terminal.is_utf8())
    environment.LC_ALL = "C.utf8"
    assert.is_true(terminal.is_utf8())
  end)

  it("takes its width from COLUMNS", function()
    environment.COLUMNS = "132"
    assert.equal(132, terminal.columns("show", nil, io.stdout))
    assert.equal(40, terminal.columns("show", 40, io.stdout))
  end)

  it("is 80 columns wide where nothing is known", function()
    terminal.isatty = function() return false end
    assert.equal(80, terminal.columns("show", nil, io.stdout))
    environment.COLUMNS = "wide"
    assert.equal(80, terminal.columns("show", nil, io.stdout))
  end)

  it("is no object that only can write", function()
    terminal.isatty = isatty
    assert.is_false(terminal.isatty({write = print}))
  end)

  it("is no file on disk", function()
    terminal.isatty = isatty
    local file <close> = io.tmpfile()
    assert.is_false(terminal.isatty(file))
  end)
end)
