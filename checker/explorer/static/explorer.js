"use strict";

// The server renders every page of the explorer; in a page without a server, stored.js does. This script takes a step
// without leaving the page: it fetches the page of the new address, and replaces the part with the id "view". The
// address is the path, so that reload, back and forward of the browser need nothing else.
(function () {
  let request = null;  // The page that is being fetched.
  let searching = null;  // The search that is in progress.
  let onlyChanges = false;

  const view = () => document.getElementById("view");
  const trunk = () => JSON.parse(view().dataset.trunk || "[]");

  // Addresses. They are relative to the page, and so keep the token of the server.

  function withSteps(codes) {
    const query = new URLSearchParams(view().dataset.base.replace(/^\.?\??/, ""));
    for (const code of codes) query.append("s", code);
    const text = query.toString();
    return text ? "?" + text : ".";
  }

  function addressOf(link) {
    const row = /^#step=(\d+)$/.exec(link.getAttribute("href"));
    if (row) {
      const positions = JSON.parse(link.closest("[data-positions]").dataset.positions);
      return withSteps(trunk().slice(0, positions[Number(row[1]) - 1]));
    }
    if (link.dataset.until === undefined) return link.getAttribute("href");
    const more = link.dataset.branch ? JSON.parse(link.dataset.branch) : [];
    return withSteps([...trunk().slice(0, Number(link.dataset.until)), ...more]);
  }

  // The links of the path would take a page of quadratic size: they get their addresses when they are needed.
  function complete(event) {
    const link = event.target.closest && event.target.closest("a[data-until]");
    if (link) link.href = addressOf(link);
  }

  // Pages.

  async function go(address, keepsHistory) {
    if (request) request.abort();
    if (searching) searching.abort();
    const mine = request = new AbortController();
    view().setAttribute("aria-busy", "true");
    try {
      const response = await fetch(address, {signal: mine.signal, credentials: "omit"});
      const text = await response.text();
      if (mine.signal.aborted) return;
      replace(new DOMParser().parseFromString(text, "text/html"));
      const shown = view().dataset.address;
      const target = shown === undefined ? response.url : new URL(shown, response.url).href;
      if (keepsHistory) window.history.replaceState(null, "", target);
      else window.history.pushState(null, "", target);
    } catch (error) {
      if (error.name === "AbortError") return;
      document.getElementById("offline").hidden = false;
    } finally {
      if (request === mine) request = null;
      view().removeAttribute("aria-busy");
    }
  }

  function replace(page) {
    const fresh = page.getElementById("view");
    if (!fresh) throw new Error("not a page of the explorer");
    const open = openParts();
    const closed = new Set(Array.from(document.querySelectorAll("details[id]:not([open])"), (part) => part.id));
    const hadFocus = view().contains(document.activeElement);
    // A search that began while this page was being fetched: the place for its result is gone.
    if (searching) searching.abort();
    document.title = page.title;
    view().replaceWith(document.adoptNode(fresh));
    for (const part of document.querySelectorAll("details[id], details.constants")) {
      if (open.has(part.id || part.className)) part.open = true;
      else if (closed.has(part.id)) part.open = false;
    }
    document.getElementById("offline").hidden = true;
    document.getElementById("announcement").textContent = view().dataset.announce;
    prepare();
    // The focus was on a part that is gone: the next Tab reaches the first enabled step.
    const steps = document.getElementById("enabled");
    if (hadFocus && steps) steps.focus({preventScroll: true});
  }

  function openParts() {
    const parts = document.querySelectorAll("details[id][open], details.constants[open]");
    return new Set(Array.from(parts, (part) => part.id || part.className));
  }

  function prepare() {
    const box = document.getElementById("only-changes");
    if (box) box.checked = onlyChanges;
    document.body.classList.toggle("only-changes", onlyChanges);
    for (const part of document.querySelectorAll(".chart")) part.scrollTop = part.scrollHeight;
    const now = document.querySelector(".path .now");
    if (now) now.parentElement.scrollTop = now.offsetTop - 120;
    Array.from(document.querySelectorAll("a.offer")).slice(0, 9).forEach((link, index) => {
      link.dataset.number = String(index + 1);
    });
  }

  // Parts of a page that are loaded when they are needed.

  async function load(address, box, before) {
    try {
      const response = await fetch(address, {credentials: "omit"});
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const parts = page.getElementById("view") || page.body;
      if (before) before.remove();
      else box.replaceChildren();
      box.append(...Array.from(parts.childNodes, (node) => document.adoptNode(node)));
    } catch (error) {
      document.getElementById("offline").hidden = false;
    }
  }

  function unfold(part) {
    if (!part.open || !part.dataset.load) return;
    const address = part.dataset.load;
    delete part.dataset.load;
    load(address, part.querySelector(".offers"));
  }

  async function search(button) {
    if (searching) searching.abort();
    const mine = searching = new AbortController();
    const box = button.closest("li").querySelector(".found");
    box.innerHTML = "<p>searching … <button type='button' class='stop'>stop</button></p>";
    box.querySelector(".stop").addEventListener("click", function () {
      mine.abort();
      box.textContent = "stopped: nothing is decided";
    });
    try {
      const response = await fetch(button.dataset.search, {signal: mine.signal, credentials: "omit"});
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const parts = page.getElementById("view") || page.body;
      box.replaceChildren(...Array.from(parts.childNodes, (node) => document.adoptNode(node)));
    } catch (error) {
      if (error.name !== "AbortError") document.getElementById("offline").hidden = false;
    } finally {
      if (searching === mine) searching = null;
    }
  }

  // The path is added here: a hidden field would change the line breaks of a name. Random steps keep the constants.
  function submit(form, button) {
    const pairs = new URLSearchParams(new FormData(form));
    if (button && button.name) pairs.set(button.name, button.value);
    const path = new URLSearchParams(view().dataset.address.replace(/^\.?\??/, ""));
    for (const [key, value] of path) {
      if (key === "s" || form.dataset.constants === undefined) pairs.append(key, value);
    }
    return form.getAttribute("action") + "?" + pairs.toString();
  }

  document.addEventListener("click", function (event) {
    const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    const link = event.target.closest("a[data-go], a[data-until], .charted a[href^='#step=']");
    if (link && isPlain) {
      event.preventDefault();
      if (link.hasAttribute("href")) go(addressOf(link));
      return;
    }
    const button = event.target.closest("button[data-search], button[data-more]");
    if (button && button.dataset.search) search(button);
    if (button && button.dataset.more) load(button.dataset.more, button.parentElement, button);
  });
  document.addEventListener("focusin", complete);
  document.addEventListener("pointerover", complete);
  document.addEventListener("submit", function (event) {
    event.preventDefault();
    go(submit(event.target, event.submitter));
  });
  document.addEventListener("toggle", (event) => unfold(event.target), true);
  document.addEventListener("change", function (event) {
    if (event.target.id !== "only-changes") return;
    onlyChanges = event.target.checked;
    document.body.classList.toggle("only-changes", onlyChanges);
  });

  let typing = null;
  document.addEventListener("input", function (event) {
    const field = event.target;
    if (!field.dataset.filter) return;
    window.clearTimeout(typing);
    typing = window.setTimeout(function () {
      const address = new URL(field.dataset.filter, window.location.href);
      address.searchParams.set("first", "0");
      address.searchParams.set("with", field.value);
      load(address.href, field.closest("details").querySelector(".offers"));
    }, 200);
  });
  window.addEventListener("popstate", () => go(window.location.href, true));

  // Keys.

  function press(name) {
    const part = document.querySelector("[data-key='" + name + "']");
    if (part) part.click();
  }

  function moveFocus(by) {
    const links = Array.from(document.querySelectorAll("a.offer")).filter((link) => link.offsetParent !== null);
    const now = links.indexOf(document.activeElement);
    const next = now < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(Math.max(now + by, 0), links.length - 1);
    if (links[next]) links[next].focus();
  }

  const keys = {
    u: () => press("undo"), ArrowLeft: () => press("undo"), r: () => press("redo"), ArrowRight: () => press("redo"),
    Home: () => press("home"), End: () => press("end"), x: () => press("random"),
    j: () => moveFocus(1), ArrowDown: () => moveFocus(1), k: () => moveFocus(-1), ArrowUp: () => moveFocus(-1),
    c: () => document.getElementById("only-changes").click(),
    "?": () => { const part = document.getElementById("keys"); part.open = !part.open; },
  };

  document.addEventListener("keydown", function (event) {
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox";
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    // Inside a box that scrolls, the arrows scroll it.
    if (event.key.startsWith("Arrow") && event.target.closest(".chart, .state")) return;
    const step = /^[1-9]$/.test(event.key) && document.querySelector("a.offer[data-number='" + event.key + "']");
    if (!step && !(Object.hasOwn(keys, event.key) && view().dataset.address !== undefined)) return;
    event.preventDefault();
    if (step) step.click();
    else keys[event.key]();
  });

  prepare();
})();
