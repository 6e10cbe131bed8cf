--- What the page of `plot.attention_html` does, in JavaScript: decodes a matrix
-- when it is first shown, and paints one side of it for a token of the other.
return [==[
"use strict";
const get = (id) => document.getElementById(id);
const data = JSON.parse(get("data").textContent);
const sides = { queries: get("queries"), keys: get("keys") };

// ---- weights; attention_weights.lua says how they are written

const PAIR = 30, ZERO = 0, NAN = 1, TINY = 2, CODES = 2731;

const place = new Uint8Array(128);
[...data.alphabet].forEach((c, i) => { place[c.charCodeAt(0)] = i; });

function decode(text, count) {
  const codes = new Uint16Array(count);
  let at = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i), k = place[c];
    if (c === 32) at++;
    else if (c === 33) at += place[text.charCodeAt(++i)];
    else if (k < PAIR) codes[at++] = k;
    else {
      codes[at++] = PAIR + (k - PAIR) * data.alphabet.length +
        place[text.charCodeAt(++i)];
    }
  }
  return codes;
}

// What each code stands for: a number, and its text.
const numbers = new Float64Array(CODES), texts = new Array(CODES);
for (let code = 0; code < CODES; code++) {
  const digits = code < PAIR ? 1 : 3;
  const k = code < PAIR ? code - 3 : code - PAIR;
  const size = code < PAIR ? 9 : 900, least = code < PAIR ? 1 : 100;
  const power = Math.floor(k / size) - (code < PAIR ? 6 : 5);
  numbers[code] = Number((k % size + least) + "e" + power);
  texts[code] = numbers[code] < 1e-4
    ? numbers[code].toExponential(0) : numbers[code].toPrecision(digits);
}
numbers[ZERO] = 0; texts[ZERO] = "0";
numbers[NAN] = NaN; texts[NAN] = "NaN";
numbers[TINY] = 5e-7; texts[TINY] = "<1e-6";

const now = { attention: 0, layer: 0, head: 0 };
const here = () => data.attentions[now.attention];
const size = () => {
  const a = here();
  return [a.tokens.length, (a.keys || a.tokens).length];
};

const decoded = new Map();
function matrix(head) {
  const name = [now.attention, now.layer, head].join();
  if (!decoded.has(name)) {
    const [rows, cols] = size();
    decoded.set(name, decode(here().layers[now.layer][head], rows * cols));
  }
  return decoded.get(name);
}

// The codes of what the token gives to every key, or gets from every query.
function line(side, index) {
  const codes = matrix(now.head), [rows, cols] = size();
  if (side === "queries") {
    return codes.subarray(index * cols, (index + 1) * cols);
  }
  const column = new Uint16Array(rows);
  for (let i = 0; i < rows; i++) column[i] = codes[i * cols + index];
  return column;
}

function greatest(codes) {
  let most = ZERO;
  for (let i = 0; i < codes.length; i++) {
    if (codes[i] > NAN && codes[i] > most) most = codes[i];
  }
  return numbers[most];
}

// ---- colours: from the cell's to that of weights, with a text on each that
// stands out by 4.5 at least

const STEPS = 100;
let ramp = [];

function luminance(rgb) {
  const [r, g, b] = rgb.map((c) => {
    c /= 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function readColors() {
  const style = getComputedStyle(document.documentElement);
  const [from, to] = ["--cell", "--weight"].map((name) =>
    style.getPropertyValue(name).trim().slice(1).match(/../g)
      .map((hex) => parseInt(hex, 16)));
  ramp = [];
  for (let k = 0; k <= STEPS; k++) {
    const rgb = from.map((c, i) => Math.round(c + (to[i] - c) * k / STEPS));
    ramp.push({ paper: "rgb(" + rgb + ")", rgb,
      ink: luminance(rgb) > 0.179 ? "#000000" : "#ffffff" });
  }
  const ends = ramp.map((step) => step.paper);
  get("ramp").style.background =
    "linear-gradient(to right, " + ends[0] + ", " + ends[STEPS] + ")";
}

// ---- tokens

let active = null;              // {side, index}
let held = false;               // it stays when the pointer goes elsewhere
let boxes = { queries: [], keys: [] };
const other = (side) => side === "queries" ? "keys" : "queries";
const tokensOf = (side) => side === "keys" && here().keys || here().tokens;

// A token of nothing but blanks, or of nothing, would not be seen.
const visible = (token) => token === "" ? "\u2205"
  : /^ +$/.test(token) ? "\u2423".repeat(token.length) : token;

function bdi(token) {
  const element = document.createElement("bdi");
  element.textContent = visible(token);
  element.lang = "";
  element.translate = false;
  return element;
}

// The first letter is one of those that are written to the left.
const leftward = new RegExp("^\\P{L}*[\\p{Script=Arabic}\\p{Script=Hebrew}" +
  "\\p{Script=Syriac}\\p{Script=Thaana}]", "u");

function makeCells(side) {
  const tokens = tokensOf(side);
  const right = tokens.filter((token) => leftward.test(token)).length;
  sides[side].dir = right * 2 > tokens.length ? "rtl" : "ltr";
  sides[side].replaceChildren(...tokens.map((token, index) => {
    const cell = document.createElement("div");
    cell.className = "cell";
    cell.setAttribute("role", "option");
    cell.setAttribute("aria-selected", "false");
    cell.tabIndex = index === 0 ? 0 : -1;
    cell.append(bdi(token), document.createElement("span"));
    return cell;
  }));
}

// Places are read when they change, not when a token is shown.
function measure() {
  for (const side in sides) {
    boxes[side] = [...sides[side].children].map((cell) => ({
      left: cell.offsetLeft, top: cell.offsetTop,
      width: cell.offsetWidth, height: cell.offsetHeight,
    }));
  }
  drawLines();
}

function paint(cell, code, most) {
  const kind = code === NAN ? "nan" : code === ZERO ? "zero" : "";
  cell.className = kind ? "cell " + kind : "cell";
  const step = kind ? null
    : ramp[most > 0 ? Math.round(numbers[code] / most * STEPS) : 0];
  cell.style.background = step ? step.paper : "";
  cell.style.color = step ? step.ink : "";
  const number = cell.lastChild;
  if (number.textContent !== texts[code]) number.textContent = texts[code];
}

function clear(cell) {
  cell.className = "cell";
  cell.style.background = cell.style.color = "";
  cell.lastChild.textContent = "";
}

const svg = document.querySelector("#stage svg");

function drawLines() {
  const used = [];
  if (active) {
    const { side, index } = active, from = boxes[side][index];
    const to = boxes[other(side)];
    const codes = line(side, index), most = greatest(codes);
    const beside = boxes.keys.length && boxes.queries.length &&
      boxes.keys[0].top < boxes.queries[0].top + boxes.queries[0].height;
    codes.forEach((code, k) => {
      const share = numbers[code] / most;
      if (!(share >= 0.1) || !from || !to[k]) return;
      const [q, p] = side === "queries" ? [from, to[k]] : [to[k], from];
      used.push([share, beside ? sideways(q, p) : downwards(q, p)]);
    });
  }
  while (svg.childElementCount < used.length) {
    svg.append(document.createElementNS(svg.namespaceURI, "path"));
  }
  [...svg.children].forEach((path, i) => {
    path.style.display = i < used.length ? "" : "none";
    if (i >= used.length) return;
    const [share, d] = used[i];
    path.setAttribute("d", d);
    path.setAttribute("stroke-width", 0.75 + 3.25 * share);
    path.setAttribute("stroke-opacity", 0.25 + 0.75 * share);
  });
}

function downwards(q, k) {
  const x = q.left + q.width / 2, y = q.top + q.height;
  const u = k.left + k.width / 2, v = k.top, m = (y + v) / 2;
  return `M${x} ${y}C${x} ${m} ${u} ${m} ${u} ${v}`;
}

function sideways(q, k) {
  const x = q.left + q.width, y = q.top + q.height / 2;
  const u = k.left, v = k.top + k.height / 2, m = (x + u) / 2;
  return `M${x} ${y}C${m} ${y} ${m} ${v} ${u} ${v}`;
}

// ---- what is said: the greatest weights, for those who see and who hear

const SAID = 5;

function say(side, index, codes) {
  const said = get("said");
  const given = side === "queries";
  const found = [...codes.keys()].filter((k) => codes[k] > NAN)
    .sort((a, b) => codes[b] - codes[a] || a - b);
  const bad = codes.filter((code) => code === NAN).length;
  said.replaceChildren(bdi(tokensOf(side)[index]), " (" + (index + 1) + ")");
  if (!found.length && !bad) {
    said.append(given ? " attends to nothing: all weights are 0"
      : " is attended to by nothing: all weights are 0");
    return;
  }
  said.append(given ? " attends to " : " is attended to by ");
  found.slice(0, SAID).forEach((k, i) => {
    said.append(i ? ", " : "", bdi(tokensOf(other(side))[k]),
      " " + texts[codes[k]]);
  });
  const rest = found.length - SAID;
  const way = given ? "to " : "by ";
  if (rest > 0) said.append(", and less " + way + rest + " more");
  if (bad) {
    said.append((found.length ? "; " : "") + bad +
      (bad > 1 ? " weights are" : " weight is") + " not a number (NaN)");
  }
}

// Shows the weights of the active token.
function show() {
  document.body.classList.toggle("held", held);
  if (!active) return;
  const { side, index } = active;
  const codes = line(side, index), most = greatest(codes);
  const cells = sides[other(side)].children;
  for (let k = 0; k < cells.length; k++) paint(cells[k], codes[k], most);
  get("most").textContent = most > 0
    ? texts[codes.reduce((a, b) => Math.max(a, b))] : "0";
  get("zero").hidden = !codes.includes(ZERO);
  get("nan").hidden = !codes.includes(NAN);
  drawLines();
  say(side, index, codes);
}

function activate(side, index) {
  if (active && active.side === side && active.index === index) return;
  if (active) {
    const old = sides[active.side].children[active.index];
    old.setAttribute("aria-selected", "false");
    if (active.side !== side) [...sides[side].children].forEach(clear);
  }
  active = { side, index };
  const cells = sides[side].children;
  for (const cell of cells) if (cell.tabIndex === 0) cell.tabIndex = -1;
  cells[index].tabIndex = 0;
  cells[index].setAttribute("aria-selected", "true");
  show();
}

// ---- choices

function choices(name, labels, after) {
  const set = get(name);
  set.hidden = labels.length < 2;
  set.replaceChildren(set.firstElementChild, ...labels.map((text, i) => {
    const label = document.createElement("label");
    const input = document.createElement("input");
    const span = document.createElement("span");
    input.type = "radio";
    input.name = name;
    input.value = i;
    input.checked = i === now[name];
    input.addEventListener("change", () => {
      now[name] = i;
      after();
    });
    span.append(text);
    span.dir = "auto";
    label.append(input, span);
    return label;
  }));
}

// A small picture of each head: rows are tokens, columns what they attend to;
// the square root of each weight, of the greatest.
function drawHead(canvas, codes) {
  const most = greatest(codes) || 1;
  const colors = new Uint8Array(4 * CODES), pixel = new Uint32Array(
    colors.buffer); // of each code
  for (let code = 0; code < CODES && !(numbers[code] > most); code++) {
    const share = code === NAN ? 0 : Math.sqrt(numbers[code] / most);
    const { rgb } = ramp[Math.round(share * STEPS)];
    colors.set([...rgb, 255], 4 * code);
  }
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < codes.length; i++) pixels[i] = pixel[codes[i]];
  context.putImageData(image, 0, 0);
}

function drawHeads() {
  const [rows, cols] = size();
  document.querySelectorAll("#head span").forEach((span, head) => {
    const canvas = span.querySelector("canvas") ||
      document.createElement("canvas");
    canvas.width = cols;
    canvas.height = rows;
    drawHead(canvas, matrix(head));
    if (!canvas.parentNode) span.prepend(canvas);
  });
}

function chooseLayer() {
  drawHeads();
  show();
}

function makeHeads() {
  const count = here().layers[now.layer].length;
  const names = [...Array(count).keys()].map((i) => i || "mean");
  now.head = Math.min(now.head, count - 1);
  choices("head", names, show);
  const mean = get("head").querySelector("input");
  mean.setAttribute("aria-label", "mean of all heads");
  drawHeads();
}

function makeAttention() {
  const layers = here().layers;
  now.layer = Math.min(now.layer, layers.length - 1);
  choices("layer", layers.map((_, i) => i + 1), () => {
    const same = layers[now.layer].length ===
      get("head").querySelectorAll("input").length;
    if (same) chooseLayer(); else { makeHeads(); show(); }
  });
  makeHeads();
  makeCells("queries");
  makeCells("keys");
  const [rows, cols] = size();
  get("stage").className = Math.max(rows, cols) > 40 ? "long" : "";
  const index = active ? Math.min(active.index, rows - 1) : 0;
  const side = "queries";
  active = null;
  activate(side, index);
  measure();
}

// ---- pointer and keyboard

for (const side in sides) {
  const list = sides[side];
  const find = (event) => {
    const cell = event.target.closest(".cell");
    return cell ? [...list.children].indexOf(cell) : -1;
  };
  list.addEventListener("pointerover", (event) => {
    const index = find(event);
    if (index >= 0 && !held) activate(side, index);
  });
  list.addEventListener("focusin", (event) => {
    const index = find(event);
    if (index >= 0 && !pressed) activate(side, index);
  });
  list.addEventListener("click", (event) => {
    const index = find(event);
    if (index >= 0) hold(side, index);
  });
  list.addEventListener("keydown", (event) => press(event, side));
}

// A press of the button moves the focus before the click comes.
let pressed = false;
addEventListener("pointerdown", () => { pressed = true; }, true);
addEventListener("pointerup", () => { pressed = false; }, true);
addEventListener("pointercancel", () => { pressed = false; }, true);

function hold(side, index) {
  const same = active.side === side && active.index === index;
  held = !(held && same);
  if (same) show(); else activate(side, index);
}

addEventListener("keydown", (event) => {
  if (event.key === "Escape" && held) {
    held = false;
    show();
  }
});

// The nearest cell of the line of cells above (-1) or below (1).
function nextLine(side, index, step) {
  const all = boxes[side], from = all[index];
  const middle = (box) => box.left + box.width / 2;
  let best = index, least = Infinity;
  all.forEach((box, k) => {
    const down = (box.top - from.top) * step;
    if (down < from.height / 2) return;
    const way = down * 1000 + Math.abs(middle(box) - middle(from));
    if (way < least) [best, least] = [k, way];
  });
  return best;
}

function press(event, side) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const cells = sides[side].children;
  const index = [...cells].indexOf(document.activeElement);
  const forward = sides[side].dir === "rtl" ? -1 : 1;
  const to = {
    ArrowRight: index + forward, ArrowLeft: index - forward,
    ArrowDown: nextLine(side, index, 1), ArrowUp: nextLine(side, index, -1),
    Home: 0, End: cells.length - 1,
  }[event.key];
  if (event.key === "Enter" || event.key === " ") {
    hold(side, index);
  } else if (to === undefined) {
    return;
  } else if (cells[to]) {
    cells[to].focus();
  }
  event.preventDefault();
}

// ---- start

const isDark = matchMedia("(prefers-color-scheme: dark)");
isDark.addEventListener("change", () => {
  readColors();
  drawHeads();
  show();
});
readColors();
choices("attention", data.attentions.map((a) => a.name), makeAttention);
makeAttention();
new ResizeObserver(measure).observe(get("stage"));
]==]
