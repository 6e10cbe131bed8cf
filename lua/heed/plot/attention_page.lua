--- The page of `plot.attention_html`: what stands in it and how it looks. What
-- it does is in `attention_script.lua`. Colours: blue and vermillion of Okabe
-- and Ito's set for the colour-blind (Color Universal Design, 2008).
local script = require "heed.plot.attention_script"

local style <const> = [[
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1b1b1b; --quiet: #595959; --line: #8a8a8a;
  --cell: #f2f2f2; --mark: #c24a00; --weight: #0072b2;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15171b; --ink: #ececec; --quiet: #ababab; --line: #7d7d7d;
    --cell: #25282e; --mark: #e69f00; --weight: #56b4e9;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1rem; max-width: 82rem;
  background: var(--paper); color: var(--ink);
  font: 1rem/1.4 system-ui, sans-serif;
}
h1 { font-size: 1.3rem; margin: 0 0 .6rem; overflow-wrap: anywhere; }
h2 {
  font-size: .85rem; font-weight: normal; color: var(--quiet);
  margin: 0 0 .3rem;
}

/* what is shown: attention, layer, head */
fieldset {
  border: 0; margin: 0 0 .5rem; padding: 0; min-width: 0;
  display: flex; flex-wrap: wrap; gap: .25rem; align-items: center;
}
fieldset[hidden] { display: none; }
legend { float: left; width: 5.5rem; color: var(--quiet); font-size: .85rem; }
label { position: relative; }
input {
  position: absolute; inset: 0; width: 100%; height: 100%; margin: 0;
  opacity: 0; cursor: pointer;
}
label > span {
  display: block; min-width: 2.2rem; padding: .2rem .55rem;
  text-align: center; overflow-wrap: anywhere;
  border: 1px solid var(--line); border-radius: .3rem;
}
label canvas {
  display: block; width: 3rem; height: 3rem; margin: .1rem auto .05rem;
  image-rendering: pixelated;
}
input:checked + span {
  background: var(--ink); color: var(--paper); border-color: var(--ink);
}
input:focus-visible + span, .cell:focus-visible {
  outline: 3px solid var(--mark); outline-offset: 2px;
}
#said { /* of one height, so that nothing moves away below the pointer */
  position: sticky; top: 0; z-index: 1; height: 3.2em; overflow-y: auto;
  margin: .3rem 0; padding: .2em 0; background: var(--paper);
  overflow-wrap: anywhere;
}
#said bdi { font-weight: bold; }

/* the tokens, and lines between them behind */
#stage { position: relative; }
#stage svg {
  position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible;
  fill: none; stroke: var(--weight); pointer-events: none;
}
#stage section + section { /* its name below, out of the way of lines */
  margin-top: 4.5rem; display: flex; flex-direction: column-reverse;
}
#stage section + section h2 { margin: .3rem 0 0; }
.cells {
  display: flex; flex-wrap: wrap; gap: .35rem; outline-offset: .3rem;
}
.cell {
  position: relative; min-width: 3.5rem; max-width: 100%;
  padding: .1rem .3rem; text-align: center; cursor: pointer;
  background: var(--cell); border: 2px solid transparent;
  border-radius: .3rem;
}
.cell bdi {
  display: block; min-height: 1.4em; white-space: pre-wrap;
  overflow-wrap: anywhere;
}
.cell span {
  display: block; height: 1.25em; margin: 0 -.3rem;
  font-size: .72rem; line-height: 1.25; contain: layout size style;
  font-variant-numeric: tabular-nums; direction: ltr;
}
.cell[aria-selected=true] { border-color: var(--mark); }
.held .cell[aria-selected=true] {
  outline: 2px solid var(--mark); outline-offset: 1px;
}
.zero { background: var(--paper); border: 2px dashed var(--line); }
.cell.zero { color: var(--quiet); }
.nan {
  background: repeating-linear-gradient(45deg, var(--cell) 0 4px,
    var(--paper) 4px 8px);
  border: 2px dotted var(--mark);
}
@media (min-width: 60rem) {
  .long { display: grid; grid-template-columns: 1fr 1fr; gap: 5rem; }
  #stage.long section + section { margin-top: 0; display: block; }
  #stage.long section + section h2 { margin: 0 0 .3rem; }
}
@media (max-width: 40rem) {
  legend { width: 100%; }
  #said { height: 4.6em; }
}
footer {
  margin-top: 1rem; color: var(--quiet); font-size: .85rem;
}
#legend { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; margin: 0; }
#legend > span { display: flex; align-items: center; gap: .4rem; }
#legend > span[hidden] { display: none; }
#legend i {
  display: inline-block; min-width: 2rem; height: 1.1rem;
  border-radius: .2rem; padding: 0; margin: 0;
}
#ramp { width: 6rem; }
]]

local body <const> = [[
<form>
<fieldset id="attention"><legend>Attention</legend></fieldset>
<fieldset id="layer"><legend>Layer</legend></fieldset>
<fieldset id="head"><legend>Head</legend></fieldset>
</form>
<main>
<p id="said" role="status" aria-live="polite">
<noscript>This page needs JavaScript.</noscript></p>
<div id="stage">
<svg aria-hidden="true"></svg>
<section><h2 id="queries-name">Tokens</h2>
<div class="cells" id="queries" role="listbox"
  aria-labelledby="queries-name"></div></section>
<section><h2 id="keys-name">Attended to</h2>
<div class="cells" id="keys" role="listbox"
  aria-labelledby="keys-name"></div></section>
</div>
</main>
<footer>
<p id="legend">
<span><span>0</span> <i id="ramp"></i> <span id="most"></span></span>
<span id="zero"><i class="zero"></i> exactly 0, as behind a mask</span>
<span id="nan"><i class="nan"></i> NaN: not a number</span>
</p>
<p>Point at a token, above or below, to see its weights; a click or Enter holds
it, another or Escape lets it go. Tab and the arrow keys reach everything. Lines
are drawn for weights from a tenth of the greatest shown.</p>
</footer>
]]

-- The page may load nothing at all, from anywhere.
local head <const> = [[
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none';
  style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
]]

local entities <const> = {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;"}

--- Returns the page.
-- @tparam string title any text
-- @tparam string data JSON without `<`
-- @treturn string HTML
return function(title, data)
  title = title:gsub("[&<>]", entities)
  return table.concat {
    head, "<title>", title, "</title>\n<style>\n", style,
    "</style>\n</head>\n<body>\n<h1 dir=\"auto\">", title, "</h1>\n", body,
    "<script type=\"application/json\" id=\"data\">", data, "</script>\n",
    "<script>\n", script, "</script>\n</body>\n</html>\n",
  }
end
