// The explorer's page asks the worker of the page around it instead of a server.
"use strict";
const outer = window.parent;
if (outer === window) window.location.replace("../playground.html");
window.fetch = (address, { signal } = {}) => outer.answer(new URL(address, document.baseURI), signal);
for (const name of ["pushState", "replaceState"]) {
  const change = window.history[name].bind(window.history);
  window.history[name] = (...given) => {
    change(...given);
    outer.moved(window.location.search);
  };
}
document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[download]");
  if (!link) return;
  event.preventDefault();
  const answer = await window.fetch(link.href);
  const made = document.createElement("a");
  made.href = URL.createObjectURL(new Blob([await answer.text()]));
  made.download = answer.file;
  made.click();
});
// As after a step back in the history, the explorer's script now asks for the page of this address.
window.addEventListener("load", () => window.dispatchEvent(new PopStateEvent("popstate")));
