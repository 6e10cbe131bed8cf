--- Pictures of matrices: in the terminal and as SVG, PNG or PDF files.
-- A matrix is a table of rows of numbers, or a tensor `[rows cols]`; booleans
-- count as 0 and 1. Labels may hold any bytes: what would not print on a line
-- is shown as an escape.
--
-- Options that all pictures share:
--
-- - `row_labels`, `col_labels`: tables of strings or numbers, one for each row
--   or column; default 1, 2, ...; `false` for none
-- - `title`: a line above
-- - `cmap`: `"viridis"` (default), `"magma"`, `"Reds"` or `"gray"`
-- - `vmin`, `vmax`: what the colours span; default the least and the greatest
--   finite element. What lies outside, infinities too, is drawn as the end.
--
-- What is not a number gets a colour of its own, and an entry in the legend.
-- @module heed.plot
local check = require "heed.check"
local heatmap = require "heed.plot.heatmap"
local text = require "heed.plot.text"
local words_text = require "heed.plot.words"

local plot = {}

--- Returns a heat map as text for a terminal.
-- Drawn in 24-bit colours where the terminal has them (COLORTERM, NO_COLOR and
-- TERM are asked), otherwise in shades of characters. Labels of columns are
-- written downwards where they do not fit beside each other, and a map that is
-- wider than the terminal is split into several, one below the other.
-- @param matrix numbers `[rows cols]`
-- @tparam[opt] table opts `row_labels`, `col_labels`, `title`, `cmap`, `vmin`,
--   `vmax`; `width` in columns (default the terminal's, or 80); `color` true or
--   false (default as the terminal can); `utf8` true or false (default as the
--   locale says); `file`, the terminal that is asked (default `io.stdout`)
-- @treturn string lines, each with its end
-- @raise for a matrix that is none, labels that do not match, unknown options
-- @usage
-- local plot = require "heed.plot"
-- local map = plot.render({{0, 1}, {1, 0}}, {color = false, utf8 = false})
-- assert(map:find("1 |  @@|", 1, true))
function plot.render(matrix, opts)
  local map = text.render("render", matrix, opts)
  return map
end

--- Writes a heat map to the terminal; see `render`.
-- @param matrix numbers `[rows cols]`
-- @tparam[opt] table opts as for `render`; `file` is written to, any object
--   with a `write` method
-- @raise as `render`, and if the file cannot be written
-- @usage
-- local plot = require "heed.plot"
-- plot.show({{0.1, 0.9}, {0.7, 0.3}}, {row_labels = {"le", "chat"},
--   col_labels = {"the", "cat"}})
function plot.show(matrix, opts)
  local map = text.render("show", matrix, opts)
  local file = opts and opts.file or io.stdout
  local ok, message = file:write(map)
  if not ok then check.fail("show: cannot write: %s", message) end
end

--- Writes a heat map as a picture, with gnuplot.
-- The file is the whole picture, or what it was before: it is drawn under
-- another name beside it. gnuplot must be in the PATH.
-- @param matrix numbers `[rows cols]`
-- @tparam table opts `row_labels`, `col_labels`, `title`, `cmap`, `vmin`,
--   `vmax`; `xlabel` below, `ylabel` at the left; `file`, whose ending `.svg`,
--   `.png` or `.pdf` gives the format
-- @raise as `render`; if the file cannot be written; if gnuplot is missing
-- @usage
-- local plot = require "heed.plot"
-- local file = "weights.svg"
-- plot.heatmap({{0.1, 0.9}, {0.7, 0.3}}, {title = "weights", file = file})
-- os.remove(file)
function plot.heatmap(matrix, opts)
  heatmap.write("heatmap", matrix, opts)
end

--- Writes attention weights as a picture: queries down, keys to the right.
-- @tparam {string,...} queries the tokens that attend, one for each row
-- @tparam {string,...} keys the tokens attended to, one for each column
-- @param weights numbers `[queries keys]`
-- @tparam table opts as for `heatmap`, without labels of rows and columns;
--   `vmin` is 0, `xlabel` "source" and `ylabel` "target" if they are not given
-- @raise as `heatmap`
-- @usage
-- local plot = require "heed.plot"
-- local file = "weights.svg"
-- plot.attention({"le", "chat"}, {"the", "cat"}, {{0.9, 0.1}, {0.2, 0.8}},
--   {file = file})
-- os.remove(file)
function plot.attention(queries, keys, weights, opts)
  if type(queries) ~= "table" or type(keys) ~= "table" then
    check.fail("attention: queries and keys must be tables of tokens, "
      .. "got %s and %s", check.show(queries), check.show(keys))
  end
  if opts ~= nil and type(opts) ~= "table" then
    check.fail("attention: the options must be a table, got %s",
      check.show(opts))
  end
  local filled = {vmin = 0, xlabel = "source", ylabel = "target"}
  for name, value in pairs(opts or {}) do filled[name] = value end
  filled.row_labels, filled.col_labels = queries, keys
  heatmap.write("attention", weights, filled)
end

--- Writes words to the terminal, each shaded by a weight: on a colour where the
-- terminal has them, otherwise with a line of shades below.
-- @tparam {string,...} words
-- @param weights as many numbers: a list or a tensor `[T]`
-- @tparam[opt] table opts `cmap` ("Reds"); `vmin` (0) and `vmax` (the greatest
--   weight), what the shades span; `width`, `color`, `utf8` as for `render`;
--   `file` is written to, any object with a `write` method
-- @raise for weights that are not one a word, unknown options, and if the file
--   cannot be written
-- @usage
-- local plot = require "heed.plot"
-- plot.words({"a", "dull", "film"}, {0.1, 0.8, 0.1})
function plot.words(words, weights, opts)
  local lines = words_text.render("words", words, weights, opts)
  local file = opts and opts.file or io.stdout
  local ok, message = file:write(lines)
  if not ok then check.fail("words: cannot write: %s", message) end
end

return plot
