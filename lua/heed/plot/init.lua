--- Pictures: in the terminal and as SVG, PNG or PDF files.
-- Matrices are tables of rows of numbers, or tensors `[rows cols]`; booleans
-- count as 0 and 1. Texts may hold any bytes: what would not print on a line,
-- or what no font has, is shown as an escape.
--
-- Options that all functions share:
--
-- - `file`: the name of a picture, whose ending `.svg`, `.png` or `.pdf` gives
--   the format; it is drawn by gnuplot, which must be in the PATH, and is the
--   whole new picture or what it was before. Without a name the picture is
--   text for the terminal and goes to `io.stdout`, or to what `file` is
--   otherwise: an object with a `write` method, such as `io.stderr`.
-- - `title`: a line above; `xlabel` below, `ylabel` at the left
-- - of text only: `width` in columns (default the terminal's, or 80), `color`
--   true or false (24-bit colours; default as the terminal can, of which
--   COLORTERM, NO_COLOR and TERM are asked), `utf8` true or false (default as
--   the locale says)
--
-- Options that heat maps share:
--
-- - `row_labels`, `col_labels`: tables of strings or numbers, one for each row
--   or column; default 1, 2, ...; `false` for none
-- - `cmap`: `"viridis"` (default), `"magma"`, `"Reds"` or `"gray"`
-- - `vmin`, `vmax`: what the colours span; default the least and the greatest
--   finite element. What lies outside, infinities too, is drawn as the end.
--
-- What is not a number gets a colour of its own, and an entry in the legend.
-- @module heed.plot
local attention_html = require "heed.plot.attention_html"
local bars = require "heed.plot.bars"
local check = require "heed.check"
local heatmap = require "heed.plot.heatmap"
local hist = require "heed.plot.hist"
local image = require "heed.plot.image"
local lines = require "heed.plot.lines"
local matrix = require "heed.plot.matrix"
local shaded_words = require "heed.plot.words"

local plot = {}

-- Whether this is a series, a list of series, or a history of training.
local function is_series(x)
  if type(x) ~= "table" or check.is_tensor(x) then return false end
  local first = x.y ~= nil and x or x[1]
  return type(first) == "table" and not check.is_tensor(first)
    and (first.y ~= nil or first.epoch ~= nil)
end

-- The sizes of a tensor or of nested tables: how many dimensions, and the size
-- of the first.
local function outer(x)
  local dims = matrix.depth(x)
  return dims, dims > 0 and #x or 0
end

-- Draws what `x` is.
local function draw_any(op, x, opts)
  if is_series(x) then return lines.draw(op, x, opts) end
  local dims, size = outer(x)
  if dims == 1 and (size > 0 or check.is_tensor(x)) then
    return lines.draw(op, x, opts)
  elseif dims == 3 and (size == 1 or size == 3) then
    return image.draw(op, x, opts)
  elseif dims == 3 or dims == 4 then
    opts = check.types(op, opts, heatmap.known_grid)
    return heatmap.draw(op, matrix.grid(op, x, opts.columns), opts)
  end
  opts = check.types(op, opts, heatmap.known)
  heatmap.draw(op, {{matrix.read(op, x)}, columns = 1}, opts)
end

-- The options with an object for their file that keeps what is written.
local function kept(opts, parts)
  if opts ~= nil and type(opts) ~= "table" then return opts end
  local copy = {}
  for name, value in pairs(opts or {}) do copy[name] = value end
  copy.file = {write = function(self, content)
    parts[#parts + 1] = content
    return self
  end}
  return copy
end

--- Returns a picture as text for a terminal, of the kind that `x` asks for:
-- numbers `[n]`, series and histories as `lines`; a matrix as `heatmap`;
-- `[1 H W]` and `[3 H W]` as `image`; other numbers of three or four dimensions
-- as `heatmaps`.
-- A heat map with labels has a line for each row; labels of columns are written
-- downwards where they do not fit beside each other, and a map that is wider
-- than the terminal is split into several, one below the other. Without labels
-- it is drawn as images are: where there are colours, in half blocks, two rows
-- a line, made smaller if it is wider than the terminal; otherwise in shades.
-- @param x numbers of one to four dimensions, or series
-- @tparam[opt] table opts as for the function of that kind; `file` is not
--   written to, it is the terminal whose width and colours are asked
-- @treturn string lines, each with its end
-- @raise as that function
-- @usage
-- local plot = require "heed.plot"
-- local map = plot.render({{0, 1}, {1, 0}}, {color = false, utf8 = false})
-- assert(map:find("1 |  @@|", 1, true))
function plot.render(x, opts)
  local parts = {}
  draw_any("render", x, kept(opts, parts))
  return table.concat(parts)
end

--- Shows in the terminal what `x` is; see `render`.
-- @param x numbers of one to four dimensions, or series
-- @tparam[opt] table opts as for the function of that kind
-- @raise as that function
-- @usage
-- local plot = require "heed.plot"
-- plot.show({{0.1, 0.9}, {0.7, 0.3}}, {row_labels = {"le", "chat"},
--   col_labels = {"the", "cat"}})
-- plot.show(heed.randn(100):cumsum(1)) -- a line
function plot.show(x, opts)
  draw_any("show", x, opts)
end

--- Draws a heat map of a matrix.
-- Cells are square where they can be, and grow until every label has room.
-- @param values numbers `[rows cols]`
-- @tparam[opt] table opts `row_labels`, `col_labels`, `title`, `xlabel`,
--   `ylabel`, `cmap`, `vmin`, `vmax`, `file`, `width`, `color`, `utf8`, see
--   above
-- @raise for a matrix that is none, labels that do not match, unknown options;
--   if the file cannot be written; if gnuplot is missing
-- @usage
-- local plot = require "heed.plot"
-- local file = "weights.svg"
-- plot.heatmap({{0.1, 0.9}, {0.7, 0.3}}, {title = "weights", file = file})
-- os.remove(file)
function plot.heatmap(values, opts)
  opts = check.types("heatmap", opts, heatmap.known)
  heatmap.draw("heatmap", {{matrix.read("heatmap", values)}, columns = 1}, opts)
end

--- Draws a grid of heat maps with one scale of colours.
-- Labels stand at the outer maps: of rows at the left ones, of columns at the
-- lowest ones; if the maps differ in size, at all of them. `ylabel` stands
-- beside each row and `xlabel` below each column.
-- @param grid numbers `[R C rows cols]`, or `[C rows cols]` for one row of
--   maps; or a table of rows of matrices, or a list of matrices
-- @tparam[opt] table opts as for `heatmap`, and `titles`: one for each column,
--   or one for each map; `row_titles`: one for each row; `columns`: after how
--   many maps one row of them goes on in the next
-- @raise as `heatmap`
-- @usage
-- local heads = heed.rand(2, 3, 3):softmax(-1) -- [heads queries keys]
-- heed.plot.heatmaps(heads, {titles = {"head 1", "head 2"}, width = 40})
function plot.heatmaps(grid, opts)
  opts = check.types("heatmaps", opts, heatmap.known_grid)
  local maps = matrix.grid("heatmaps", grid, opts.columns)
  heatmap.draw("heatmaps", maps, opts)
end

local function check_tokens(name, list)
  if type(list) ~= "table" then
    check.fail("attention: %s must be a table of tokens, got %s", name,
      check.show(list))
  end
  for i, token in ipairs(list) do
    if type(token) ~= "string" and type(token) ~= "number" then
      check.fail("attention: %s[%d] must be a string or a number, got %s",
        name, i, check.show(token))
    end
  end
end

--- Draws attention weights: queries down, keys to the right, their tokens at
-- 45 degrees.
-- @tparam {string,...} tokens one for each row, and for each column
-- @param weights numbers `[queries keys]`
-- @tparam[opt] table opts as for `heatmap`, without labels of rows and columns;
--   `keys`: the tokens of the columns, if they are others than those of the
--   rows; `vmin` is 0, `xlabel` "keys" and `ylabel` "queries" if not given
-- @raise as `heatmap`
-- @usage
-- local plot = require "heed.plot"
-- plot.attention({"the", "cat"}, {{0.9, 0.1}, {0.2, 0.8}})
-- local file = "weights.svg"
-- plot.attention({"le", "chat"}, {{0.9, 0.1}, {0.2, 0.8}},
--   {keys = {"the", "cat"}, file = file})
-- os.remove(file)
function plot.attention(tokens, weights, opts)
  local known = {keys = "table"}
  for name, kinds in pairs(heatmap.known) do known[name] = kinds end
  known.row_labels, known.col_labels = nil, nil
  opts = check.types("attention", opts, known)
  local keys = opts.keys or tokens
  check_tokens("tokens", tokens)
  check_tokens("keys", keys)
  local m = matrix.read("attention", weights, "weights")
  if #tokens ~= m.rows or #keys ~= m.cols then
    check.fail("attention: weights must be [%d %d] for %d tokens%s, "
      .. "got [%d %d]", #tokens, #keys, #tokens,
      opts.keys and " and " .. #keys .. " keys" or "", m.rows, m.cols)
  end
  local filled = {vmin = 0, xlabel = "keys", ylabel = "queries"}
  for name, value in pairs(opts) do filled[name] = value end
  filled.row_labels, filled.col_labels = tokens, keys
  heatmap.draw("attention", {{m}, columns = 1}, filled, true)
end

--- Draws an image, or a matrix over an image.
-- Bytes (uint8) span 0 to 255, 16 bits (int32) 0 to 65535, other numbers 0 to
-- 1. A gray image whose numbers leave this spans the least to the greatest of
-- them; colours that leave it are cut.
-- @param values `[H W]` or `[1 H W]` (gray) or `[3 H W]` (red, green, blue): a
--   tensor or nested tables
-- @tparam[opt] table opts `overlay`: a matrix of any size, whose heat map is
--   drawn over the whole image; `alpha`, how much it covers, 0 to 1 (0.5);
--   `cmap` (of a gray image "gray", of an overlay "viridis"), `vmin` and `vmax`
--   speak of the overlay if there is one, otherwise of a gray image; `title`,
--   `xlabel`, `ylabel`, `file`, `width`, `color`, `utf8`, see above
-- @raise as `heatmap`
-- @usage
-- local image = heed.rand(3, 16, 16)
-- heed.plot.image(image)
-- heed.plot.image(image, {overlay = {{0.7, 0.1}, {0.1, 0.1}}})
function plot.image(values, opts)
  image.draw("image", values, opts)
end

--- Draws images side by side. The gray ones share one scale.
-- @param list a list of images as for `image`, or a tensor `[N H W]` or
--   `[N C H W]`
-- @tparam[opt] table opts as for `image`, without `overlay`; `titles`, one for
--   each image or each column; `row_titles`; `columns`, images in a row
--   (default 8 or fewer, all rows about as long); `overlays`, a list of
--   matrices with one scale, false for an image without
-- @raise as `heatmap`
-- @usage
-- local digits = heed.rand(4, 8, 8)
-- heed.plot.images(digits, {titles = {"1", "2", "3", "4"}})
function plot.images(list, opts)
  image.draw_list("images", list, opts)
end

--- Draws series of numbers as lines or points.
-- Lines differ in colour (those of Okabe and Ito, for all kinds of colour
-- blindness) and in dashes or markers; in the terminal each has a letter. The
-- legend stands beside the chart, never on it. Any number of points may be
-- given: of those that share a column of pixels, the ones stay that can be
-- seen. NaN and infinities leave a gap, and so does on a logarithmic axis what
-- is not above 0; a line below the chart counts them.
-- @param series one series or a list of series. A series is a list of numbers
--   or a tensor `[n]`, or a table of `y`; `x` (default 1 to n); `label`;
--   `points`: true for markers without a line. A tensor `[series n]` is a list.
--   The `history` of `heed.train.fit` is one, with a line for each of `keys`.
-- @tparam[opt] table opts `title`, `xlabel`, `ylabel`; `xlog`, `ylog`: true for
--   a logarithmic axis; `xlim`, `ylim`: `{low, high}`, where either may be nil
--   (default what holds all data); `keys`, of a history (default `{"loss",
--   "valid.loss"}`, what of it there is); `file`; of text only `width`,
--   `height` (rows, 16), `color`, `utf8`, see above
-- @raise for what is no series, lists of unequal length, limits that do not
--   ascend, unknown options; on a logarithmic axis if no number is above 0; if
--   the file cannot be written; if gnuplot is missing
-- @usage
-- local plot = require "heed.plot"
-- plot.lines({{y = {2.3, 1.1, 0.7}, label = "training"},
--   {y = {2.4, 1.3, 1.2}, label = "validation"}},
--   {xlabel = "epoch", ylabel = "loss", ylog = true})
function plot.lines(series, opts)
  lines.draw("lines", series, opts)
end

--- Draws how numbers are distributed.
-- A bin holds the numbers from its lower edge to below the upper one, the last
-- bin those at its upper edge too. Without `bins` their count follows the rule
-- "auto" of numpy (the narrower bins of the rules of Freedman and Diaconis, and
-- of Sturges), with at most 256. NaN, infinities and what lies outside of all
-- bins are counted in a line below the chart.
-- @param values a list of numbers, or a tensor of any shape; or several, drawn
--   over each other with the same bins: a list of these or of tables of
--   `values` and `label`
-- @tparam[opt] table opts `bins`: how many (at most 10000), or a list of
--   their edges; `xlim`:
--   `{low, high}`, what the bins span (default all numbers); `density`: true
--   for heights that make each area 1; `ylog`; `title`, `xlabel`, `ylabel`
--   (default "count" or "density"), `file`; of text only `width`, `height`,
--   `color`, `utf8`, see above
-- @raise for what are no numbers, edges that do not ascend, unknown options; if
--   the file cannot be written; if gnuplot is missing
-- @usage
-- heed.plot.hist(heed.randn(1000), {xlabel = "weight"})
function plot.hist(values, opts)
  hist.draw("hist", values, opts)
end

--- Draws bars, from 0 on: upright in a picture, lying in the terminal, with
-- their values. Groups differ in colour and in hatching. For NaN and infinities
-- there is no bar, and a line below the chart counts them.
-- @param values numbers `[labels]`, or `[labels groups]` for several bars each:
--   lists or a tensor
-- @tparam[opt] table opts `labels`: strings or numbers, one for each row of the
--   values (default 1, 2, ...); `groups`: one for each column, the legend;
--   `errors`, of the shape of the values: drawn from value - error to value +
--   error; `ylim`: `{low, high}` of the values' axis; `title`, `xlabel`,
--   `ylabel`, `file`; of text only `width`, `color`, `utf8`, see above
-- @raise for what are no numbers, labels and errors that do not match, negative
--   errors, unknown options; if the file cannot be written; if gnuplot is
--   missing
-- @usage
-- local plot = require "heed.plot"
-- plot.bars({{81.2, 79.5}, {84.0, 80.1}}, {labels = {"LSTM", "transformer"},
--   groups = {"training", "test"}, ylabel = "accuracy in %"})
function plot.bars(values, opts)
  bars.draw("bars", values, opts)
end

--- Shows words, each shaded by a weight: on a colour where the terminal has
-- them, otherwise with a line of shades below. It is text only.
-- @tparam {string,...} words
-- @param weights as many numbers: a list or a tensor `[T]`
-- @tparam[opt] table opts `cmap` ("Reds"); `vmin` (0) and `vmax` (the greatest
--   weight), what the shades span; `file`, an object with a `write` method;
--   `width`, `color`, `utf8`, see above
-- @raise for weights that are not one a word, and unknown options
-- @usage
-- local plot = require "heed.plot"
-- plot.words({"a", "dull", "film"}, {0.1, 0.8, 0.1})
function plot.words(words, weights, opts)
  shaded_words.draw("words", words, weights, opts)
end

--- Writes the attention of all layers and heads as one HTML page, or returns
-- it. A reader chooses attention, layer and head, and points at a token (or
-- goes to it with the keyboard, or taps it) to see what it attends to: by
-- shading, lines and numbers. The page needs nothing but a browser, no network.
--
-- Numbers have three digits from 0.001 on and one below that. 0 and what is not
-- a number are shown as such. The means of all heads are computed before they
-- are rounded.
-- @tparam {table,...} attentions
--
-- * `name`: of the choice, default "attention 1", ...
-- * `tokens`: the tokens that attend, strings or numbers
-- * `keys`: the tokens attended to, default `tokens`
-- * `weights`: from 0 to 1 or NaN; a tensor [Tq Tk], [H Tq Tk] or [L H Tq Tk],
--   or a list of one [H Tq Tk] (or [1 H Tq Tk], a batch of one) for each layer,
--   as `nn.collect_attention` gives it
-- @tparam[opt] table opts `title`, above the page; `file`, whose name ends in
--   `.html`: it is the whole page or what it was before
-- @treturn ?string the page, if no `file` is given
-- @raise for weights that do not fit their tokens or are no weights, unknown
--   options, a file that cannot be written
-- @usage
-- local plot = require "heed.plot"
-- plot.attention_html({{tokens = {"le", "chat"}, keys = {"the", "cat"},
--   weights = {{0.9, 0.1}, {0.2, 0.8}}}}, {file = "weights.html"})
-- os.remove("weights.html")
function plot.attention_html(attentions, opts)
  local html = attention_html.write(attentions, opts)
  return html
end

return plot
