// The playground: the editor, the worker that runs Python, the views, and the address that restores all of them.
"use strict";
const $ = (id) => document.getElementById(id);
const examples = Object.fromEntries(JSON.parse($("examples").textContent).map(({ name, text }) => [name, text]));
const folder = new URL("playground/", window.location.href);
const pending = new Map();
let worker, count = 0, opened = null, running = false, states = 0, found = [], view = "", path = "", step = "", begun = 0;

function element(tag, attributes = {}, ...children) {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(...children);
  return made;
}

// The worker.

function start() {
  begun = performance.now();
  const code = `import ${JSON.stringify(new URL("worker.js", folder).href)};`;
  // A worker of this kind has the policy of this page: a spec reaches no other server.
  worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })), { type: "module" });
  worker.onmessage = ({ data }) => {
    if (data.id !== undefined) pending.get(data.id)?.resolve(data.result);
    else ({ states } = data);
    if (data.id !== undefined) pending.delete(data.id);
    else $("status").textContent = `${states.toLocaleString("en")} states, ${data.seconds.toFixed(1)} s, ${rateOf(data)}`;
  };
  worker.onerror = () => { $("status").textContent = "Python cannot be loaded: this browser is too old, or a file is missing."; };
  if (opened) call("open", ...opened);
  return call("ready");
}

// The states a second of a run in this page.
function rateOf({ states, seconds }) {
  return `${Math.round(states / Math.max(seconds, 1e-3)).toLocaleString("en")} states a second`;
}

function call(name, ...values) {
  return new Promise((resolve, reject) => {
    pending.set(count, { resolve, reject });
    worker.postMessage({ id: count, name, values });
    count += 1;
  });
}

function stop() {
  worker.terminate();
  for (const each of pending.values()) each.reject(new DOMException("stopped", "AbortError"));
  pending.clear();
  return start();
}

// The editor.

function mark(lines) {
  const total = $("text").value.split("\n").length;
  $("numbers").replaceChildren(...Array.from({ length: total }, (_, number) =>
    element("span", { className: lines.includes(number + 1) ? "bad" : "" }, `${number + 1}\n`)), "\n\n");
  $("text").classList.toggle("wrong", lines.length > 0);
  $("text").style.setProperty("--at", (lines[0] || 1) - 1);
  $("numbers").scrollTop = $("text").scrollTop;
}

function report(errors) {
  $("errors").replaceChildren(...errors.map(({ line, text }) => element("li", {}, line ? `line ${line}: ${text}` : text)));
  const lines = errors.map((error) => error.line).filter(Boolean);
  const height = parseFloat(getComputedStyle($("text")).lineHeight);
  if (lines.length) $("text").scrollTop = Math.max(0, (lines[0] - 8) * height);
  mark(lines);
}

function key(event) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) $("form").requestSubmit();
  else if (event.key === "Escape") $("start").focus();
  else if (event.key === "Tab" && !event.shiftKey) document.execCommand("insertText", false, "    ");
  else if (event.key === "Enter") {
    const before = $("text").value.slice(0, $("text").selectionStart).split("\n").pop();
    document.execCommand("insertText", false, `\n${/^ */.exec(before)[0]}${before.trimEnd().endsWith(":") ? "    " : ""}`);
  } else return;
  event.preventDefault();
}

// A run.

async function run() {
  busy(true);
  report([]);
  $("result").replaceChildren();
  states = 0;
  opened = null;
  hide();
  $("status").textContent = "running";
  try {
    const given = [$("example").value, $("text").value, $("run").value];
    const chosen = await call("open", ...given);
    if (chosen.errors) return fail(chosen.errors);
    opened = given;
    $("run").replaceChildren(...chosen.runs.map((name) => element("option", { selected: name === chosen.run }, name)));
    const result = await call("explore", Number($("most").value));
    if (result.errors) return fail(result.errors);
    $("result").append(
      element("p", { className: `verdict ${result.verdict}` }, result.text),
      ...(result.verdict === "incomplete" ? [element("p", { className: "note" }, "The exploration was not completed: a violation may be further on.")] : []),
      ...result.sentences.map((sentence) => element("p", {}, sentence)),
      element("pre", {}, result.details));
    found = result.counterexamples;
    if (!path) path = found.length ? found[0].path : "";
    $("status").textContent = "";
    $("rate").textContent = `The last run explored ${result.states.toLocaleString("en")} states, ${rateOf(result)}.`;
    show(found.some((each) => each.property === view) || view === "Steps" ? view : found.length ? found[0].property : "Steps");
  } catch (error) {
    if (error.name !== "AbortError") throw error;
    $("result").replaceChildren(element("p", { className: "verdict incomplete" }, `Stopped after ${states.toLocaleString("en")} states: nothing is decided.`));
    if (opened) show("Steps");
  } finally {
    busy(false);
    save();
  }
}

function fail(errors) {
  report(errors);
  $("status").textContent = "";
}

function hide() {
  found = [];
  $("views").replaceChildren();
  $("page").hidden = $("steps").hidden = true;
}

function busy(is) {
  running = is;
  $("start").disabled = is;
  $("stop").disabled = !is;
}

function show(name) {
  view = name;
  $("views").replaceChildren(...[...found.map((each) => each.property), "Steps"].map((each) => {
    const label = each === "Steps" ? "Steps by hand" : `Counterexample to ${each}`;
    const button = element("button", { type: "button", onclick: () => { show(each); save(); } }, label);
    button.setAttribute("aria-pressed", each === view);
    return button;
  }));
  $("page").hidden = name === "Steps";
  $("steps").hidden = name !== "Steps";
  if (name === "Steps") {
    $("steps").contentWindow.location.replace(new URL(path === "." ? "" : path, new URL("index.html", folder)));
    return;
  }
  const { page } = found.find((each) => each.property === name);
  $("page").src = URL.createObjectURL(new Blob([page], { type: "text/html" })) + step;
  step = "";
}

// The frame of steps asks here, and says where it is.

window.answer = (address, signal) => {
  const name = address.pathname.slice(folder.pathname.length).replace("index.html", "");
  return new Promise((resolve, reject) => {
    signal?.addEventListener("abort", () => {
      reject(new DOMException("stopped", "AbortError"));
      if (name === "search") stop();
    });
    call("answer", name, address.search).then(({ text, query, file }) => resolve({
      url: new URL(query === "." ? "" : query, folder).href, file, text: async () => text,
    }), reject);
  });
};

window.moved = (query) => {
  path = query;
  save();
};

// The address: the example, the packed text if it was edited, the run, the bound, the view and the path.

async function packed(text, Stream) {
  const bytes = Stream === CompressionStream ? new TextEncoder().encode(text)
    : Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
  const out = await new Response(new Blob([bytes]).stream().pipeThrough(new Stream("deflate-raw"))).arrayBuffer();
  if (Stream !== CompressionStream) return new TextDecoder().decode(out);
  return btoa(Array.from(new Uint8Array(out), (code) => String.fromCharCode(code)).join(""))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function save() {
  const name = $("example").value, text = $("text").value;
  const pairs = new URLSearchParams({ example: name });
  if (text !== examples[name]) pairs.set("spec", await packed(text, CompressionStream));
  if ($("run").value) pairs.set("run", $("run").value);
  if ($("most").value !== $("most").defaultValue) pairs.set("most", $("most").value);
  if (view) pairs.set("view", view);
  if (path && view === "Steps") pairs.set("path", path);
  const at = $("page").hidden ? "" : $("page").contentWindow.location.hash;
  if (at) pairs.set("step", at.slice("#step=".length));
  window.history.replaceState(null, "", `#${pairs}`);
}

async function restore() {
  const pairs = new URLSearchParams(window.location.hash.slice(1));
  if (Object.hasOwn(examples, pairs.get("example"))) $("example").value = pairs.get("example");
  $("text").value = examples[$("example").value];
  if (pairs.get("run")) $("run").replaceChildren(element("option", {}, pairs.get("run")));
  if (pairs.get("most")) $("most").value = pairs.get("most");
  if (pairs.get("step")) step = `#step=${Number(pairs.get("step"))}`;
  view = pairs.get("view") || "";
  path = pairs.get("path") || "";
  try {
    if (pairs.get("spec")) $("text").value = await packed(pairs.get("spec"), DecompressionStream);
  } catch {
    report([{ line: 0, text: "The address is cut or changed: its spec cannot be read, and the example is shown." }]);
    return false;
  }
  return pairs.size > 0;
}

function changed() {
  mark([]);
  if ($("result").firstChild) $("result").replaceChildren(element("p", { className: "note" }, "The spec was changed: run it again."));
  path = view = "";
  hide();
  save();
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!running) run();
});
$("stop").addEventListener("click", () => stop().then(ready));
$("link").addEventListener("click", async () => {
  await save();
  await navigator.clipboard.writeText(window.location.href).then(() => { $("status").textContent = "copied"; }, () => {});
});
$("example").addEventListener("change", () => {
  $("text").value = examples[$("example").value];
  $("text").scrollTop = 0;
  $("run").replaceChildren(element("option", { value: "" }, "first"));
  $("result").replaceChildren();
  report([]);
  changed();
});
$("run").addEventListener("change", changed);
$("text").addEventListener("input", changed);
$("text").addEventListener("keydown", key);
$("text").addEventListener("scroll", () => { $("numbers").scrollTop = $("text").scrollTop; });
$("page").addEventListener("load", () => {
  for (const name of ["click", "keyup", "input"]) $("page").contentWindow.addEventListener(name, () => save());
  save();
});
window.addEventListener("hashchange", () => window.location.reload());

function ready() {
  $("status").textContent = "";
  $("started").textContent = `It started in ${((performance.now() - begun) / 1000).toFixed(1)} s.`;
  if (!running) $("start").disabled = false;
}

restore().then((wasRun) => {
  mark([]);
  if (window.location.protocol === "file:") {
    $("status").textContent = "A browser runs no Python from a file: in the folder of this page, run python -m http.server, and open http://localhost:8000/playground.html.";
    return;
  }
  start().then(() => { ready(); if (wasRun) run(); });
});
