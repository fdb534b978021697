// The filters of the museum. Without this script every card is shown and the form is hidden.
(function () {
  "use strict";
  const form = document.querySelector(".museum-filter");
  if (!form) return;
  const cards = [...document.querySelectorAll(".museum-card")];
  const count = form.querySelector(".museum-count");
  const names = ["area", "outcome", "release", "text"];

  function fits(card, chosen) {
    const has = (list, value) => list.split(" ").includes(value);
    if (chosen.area && card.dataset.area !== chosen.area) return false;
    if (chosen.outcome && !has(card.dataset.outcomes, chosen.outcome)) return false;
    // An entry that was not examined may be in any release.
    if (chosen.release && !("unexamined" in card.dataset) && !has(card.dataset.releases, chosen.release)) return false;
    return !chosen.text || card.textContent.toLowerCase().includes(chosen.text.toLowerCase());
  }

  function apply() {
    const chosen = Object.fromEntries(names.map((name) => [name, form.elements[name].value.trim()]));
    for (const card of cards) card.hidden = !fits(card, chosen);
    for (const list of document.querySelectorAll(".museum-cards")) {
      const isEmpty = ![...list.children].some((card) => !card.hidden);
      const section = list.closest("section");
      if (section) section.hidden = isEmpty;
    }
    const shown = cards.filter((card) => !card.hidden).length;
    count.textContent = shown === cards.length ? `${shown} entries` : `${shown} of ${cards.length} entries`;
    const address = new URLSearchParams(names.filter((name) => chosen[name]).map((name) => [name, chosen[name]]));
    history.replaceState(null, "", `#${address}`.replace(/#$/, "") || location.pathname);
  }

  const given = new URLSearchParams(location.hash.slice(1));
  for (const name of names) if (given.has(name)) form.elements[name].value = given.get(name);
  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  if (names.some((name) => given.has(name))) apply();
})();
