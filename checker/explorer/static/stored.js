"use strict";

// A page without a server: the explorer's script asks here for the page of a path, which consists of stored parts.
// The address of a path is its hash, so that a page in a file has addresses too.
(function () {
  const shell = document.getElementById("view").cloneNode(true);
  const title = document.title.replace(/\d+$/, "");
  let shown = shell.dataset.start;
  let trunk = codesOf(shown);

  async function unpack() {
    const packed = atob(document.getElementById("graph").textContent);
    const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  }
  const unpacked = unpack();

  function codesOf(hash) {
    return new URLSearchParams(hash.slice(1)).getAll("s");
  }

  function addressOf(initial, codes) {
    const pairs = initial > 1 || !codes.length ? [["i", initial]] : [];
    const query = new URLSearchParams([...pairs, ...codes.map((code) => ["s", code])]);
    return "#" + query.toString().replace(/%(3A|28|29|2C)/g, decodeURIComponent);
  }

  function htmlOf(graph, number) {
    const piece = graph.pieces[number];
    return typeof piece === "string" ? piece : piece.map((each) => htmlOf(graph, each)).join("");
  }

  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  function pageOf(graph, hash) {
    const wanted = codesOf(hash);
    let initial = Number(new URLSearchParams(hash.slice(1)).get("i") || 1), problem = "";
    if (!graph.initial[initial - 1]) {
      problem = `This spec has ${graph.initial.length} initial state${graph.initial.length > 1 ? "s" : ""}.`;
      initial = 1;
      wanted.length = 0;
    }
    let state = initial - 1, place = graph.initial[state];
    const codes = [], calls = new Map();
    for (const code of wanted) {
      const step = graph.states[state].steps.find((each) => graph.pieces[each[0]] === code);
      if (!step) {
        problem = `Step ${codes.length + 2}, ${code}, does not apply.`;
        break;
      }
      calls.set(codes.push(code), graph.pieces[step[1]]);
      [, , state, place] = step;
    }
    if (!codes.every((code, number) => code === trunk[number])) trunk = codes;
    shown = addressOf(initial, codes);
    return fill(shell.cloneNode(true), graph, {state, place, initial, codes, calls, problem});
  }

  function fill(view, graph, {state, place, initial, codes, calls, problem}) {
    const parts = [...graph.places[place], graph.states[state].enabled];
    graph.parts.forEach((name, number) => {
      const part = view.querySelector(`[data-part="${name}"]`);
      if (part) part.innerHTML = htmlOf(graph, parts[number]);
    });
    for (const number of view.querySelectorAll(".sentence .number")) number.textContent = codes.length + 1;
    for (const link of view.querySelectorAll("a[data-code]")) {
      link.setAttribute("href", addressOf(initial, [...codes, link.dataset.code]));
    }
    if (problem) view.querySelector("header").after(element("p", {class: "note", role: "alert"}, problem));
    const keys = {home: [], undo: codes.slice(0, -1), redo: trunk.slice(0, codes.length + 1)};
    for (const [key, path] of Object.entries(keys)) {
      const button = view.querySelector(`[data-key="${key}"]`);
      const leads = key === "home" || path.length !== codes.length;
      if (leads) button.setAttribute("href", addressOf(initial, path));
      else button.removeAttribute("href");
      button.toggleAttribute("aria-disabled", !leads);
    }
    view.querySelector(".visited small").textContent = `${codes.length} step${codes.length === 1 ? "" : "s"}`;
    view.querySelector(".path").replaceChildren(...rows(graph, initial, codes));
    const failures = Array.from(view.querySelectorAll(".failure"), (each) => each.textContent);
    const count = graph.states[state].steps.length;
    view.dataset.announce = [`Step ${codes.length + 1}, ${calls.get(codes.length) || "initial state"}.`, ...failures,
      `${count} enabled step${count === 1 ? "" : "s"}.`].join(" ");
    view.dataset.address = shown;
    return element("title", {}, title + (codes.length + 1)).outerHTML + view.outerHTML;
  }

  // The states of the path, and those of the steps that were undone at its end.
  function rows(graph, initial, codes) {
    let state = initial - 1;
    return ["", ...trunk].map((code, number) => {
      const step = graph.states[state].steps.find((each) => graph.pieces[each[0]] === code);
      if (step) state = step[2];
      const call = step ? graph.pieces[step[1]] : "initial state";
      const link = element("a", {href: addressOf(initial, trunk.slice(0, number)), "data-go": ""},
        element("span", {class: "count"}, number + 1), " ", element("span", {}, call));
      const kind = number === codes.length ? "now" : number > codes.length ? "undone" : "";
      if (kind === "now") link.setAttribute("aria-current", "step");
      return element("li", {class: kind}, link);
    });
  }

  window.fetch = async function (address) {
    const {hash, href} = new URL(address, window.location.href);
    const text = pageOf(await unpacked, /^#[is]=/.test(hash) ? hash : shown);
    return {url: href, text: async () => text};
  };
  // As after a step back in the history, the explorer's script now asks for the page of this address.
  window.addEventListener("load", () => window.dispatchEvent(new PopStateEvent("popstate")));
})();
