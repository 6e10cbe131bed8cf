// The search of the site. The index is loaded when it is first needed.
"use strict";

(function () {
  const up = document.body.dataset.up;
  const input = document.getElementById("search");
  const list = document.getElementById("found");
  const SHOWN = 30;
  let places = null;

  window.heedFound = function (index) {
    places = index;
    show();
  };

  function load() {
    if (document.getElementById("index")) return;
    const script = document.createElement("script");
    script.id = "index";
    script.src = up + "index.js";
    document.head.append(script);
  }

  // How well a place fits: all words must be somewhere in it.
  function fit(place, words) {
    const name = place[1].toLowerCase();
    const last = name.split(/[.:]/).pop();
    let sum = 0;
    for (const word of words) {
      if (last === word || name === word) sum += 8;
      else if (last.startsWith(word)) sum += 5;
      else if (name.includes(word)) sum += 4;
      else if (place[2].toLowerCase().includes(word)) sum += 2;
      else if (place[3].toLowerCase().includes(word)) sum += 1;
      else return 0;
    }
    return sum;
  }

  function entry(place) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    const about = document.createElement("span");
    link.href = up + place[0];
    link.textContent = place[1];
    about.textContent = place[2];
    link.append(about);
    item.append(link);
    return item;
  }

  function show() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    list.hidden = words.length === 0;
    list.replaceChildren();
    if (places === null || words.length === 0) return;
    const found = places
      .map((place, i) => [fit(place, words), i])
      .filter((pair) => pair[0] > 0)
      .sort((a, b) => b[0] - a[0] || a[1] - b[1])
      .slice(0, SHOWN);
    for (const pair of found) list.append(entry(places[pair[1]]));
    if (found.length === 0) {
      const none = document.createElement("li");
      none.textContent = "nothing found";
      list.append(none);
    }
  }

  input.addEventListener("focus", load);
  input.addEventListener("input", function () {
    load();
    show();
  });
  input.addEventListener("keydown", function (event) {
    const first = list.querySelector("a");
    if (event.key === "Enter" && first) first.click();
    if (event.key === "ArrowDown" && first) first.focus();
    if (event.key === "Escape") {
      input.value = "";
      show();
    }
  });
  list.addEventListener("keydown", function (event) {
    const step = { ArrowDown: "nextSibling", ArrowUp: "previousSibling" };
    if (!step[event.key]) return;
    const item = document.activeElement.closest("li")[step[event.key]];
    if (item) item.firstChild.focus();
    else input.focus();
    event.preventDefault();
  });
  list.addEventListener("click", function () {
    list.hidden = true;
  });
  document.addEventListener("keydown", function (event) {
    if (event.key === "/" && document.activeElement !== input) {
      input.focus();
      event.preventDefault();
    }
  });

  // On a phone the contents are shut until they are asked for.
  if (window.matchMedia("(max-width: 50rem)").matches) {
    document.querySelector(".contents").removeAttribute("open");
  }

  // The page's own line stands in the middle of the contents.
  const contents = document.querySelector(".contents");
  const here = contents.querySelector("[aria-current]");
  if (here) {
    contents.scrollTop = here.offsetTop - contents.clientHeight / 2;
  }
})();
