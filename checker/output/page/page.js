"use strict";

// The page contains every step. This script shows one at a time and keeps its number in the address: #step=7.
(function () {
  const steps = Array.from(document.querySelectorAll(".step"));
  const slider = document.getElementById("slider");
  const position = document.getElementById("position");
  const play = document.getElementById("play");
  const onlyChanges = document.getElementById("only-changes");
  const last = steps.length;
  // The number of the step in which the loop of a lasso begins; its last step shows the same state again. 0: no loop.
  const loop = Number(document.querySelector(".player").dataset.loop || 0);
  let current = 0;
  let timer = null;

  function next() {
    return current === last && loop ? loop + 1 : current + 1;
  }

  function stepOfAddress() {
    const found = /^#step=(\d+)$/.exec(window.location.hash);
    return found ? Math.min(Math.max(Number(found[1]), 1), last) : null;
  }

  function show(step, scrolls = true) {
    current = Math.min(Math.max(step, 1), last);
    for (const part of document.querySelectorAll("[data-step]")) {
      part.classList.toggle("now", Number(part.dataset.step) === current);
    }
    for (const link of document.querySelectorAll(".step-list a, .column-link")) {
      if (link.getAttribute("href") === "#step=" + current) link.setAttribute("aria-current", "step");
      else link.removeAttribute("aria-current");
    }
    slider.value = String(current);
    position.textContent = current + " / " + last + (loop && current >= loop ? " ↻" : "");
    document.getElementById("back").disabled = current === 1;
    document.getElementById("forward").disabled = current === last && !loop;
    if (scrolls) {
      scrollIntoItsBox(".chart", ".chart-steps .now");
      scrollToItsLane();
    }
    scrollIntoItsBox(".step-list", ".step-list .now");
  }

  // scrollIntoView would also scroll the whole page.
  function scrollIntoItsBox(boxName, partName) {
    const box = document.querySelector(boxName);
    const part = document.querySelector(partName);
    if (!box || !part) return;
    const outer = box.getBoundingClientRect();
    const inner = part.getBoundingClientRect();
    if (inner.left < outer.left || inner.right > outer.right) {
      box.scrollLeft += inner.left - outer.left - outer.width / 2;
    }
    if (inner.top < outer.top || inner.bottom > outer.bottom) {
      box.scrollTop += inner.top - outer.top - outer.height / 2;
    }
  }

  // A narrow window has no room for every lane.
  function scrollToItsLane() {
    for (const row of document.querySelectorAll(".chart-steps .now[data-x]")) {
      const box = row.closest(".chart");
      const lanes = box.querySelector(".chart-lanes");
      const place = lanes.offsetLeft + lanes.offsetWidth * Number(row.dataset.x) / 100;
      box.scrollLeft = place - box.clientWidth / 2;
    }
  }

  function go(step) {
    show(step);
    window.history.replaceState(null, "", "#step=" + current);
  }

  function stop() {
    window.clearInterval(timer);
    timer = null;
    play.textContent = "▶ play";
  }

  function playOrStop() {
    if (timer !== null) {
      stop();
      return;
    }
    if (current === last && !loop) go(1);
    play.textContent = "❚❚ stop";
    timer = window.setInterval(function () {
      go(next());
      if (current === last && !loop) stop();
    }, 1500);
  }

  const keys = {
    ArrowRight: () => go(next()), l: () => go(next()), j: () => go(next()),
    ArrowLeft: () => go(current - 1), h: () => go(current - 1), k: () => go(current - 1),
    Home: () => go(1), End: () => go(last), " ": playOrStop,
    c: () => onlyChanges.click(),
  };

  document.addEventListener("keydown", function (event) {
    const isElsewhere = event.ctrlKey || event.metaKey || event.altKey || /^(BUTTON|SUMMARY|A)$/.test(event.target.tagName) && event.key === " ";
    if (isElsewhere || !keys[event.key] || event.target.type === "checkbox" && event.key === " ") return;
    event.preventDefault();
    if (event.key !== " ") stop();
    keys[event.key]();
  });
  document.getElementById("back").addEventListener("click", function () { stop(); go(current - 1); });
  document.getElementById("forward").addEventListener("click", function () { stop(); go(next()); });
  play.addEventListener("click", playOrStop);
  slider.addEventListener("input", function () { stop(); go(Number(slider.value)); });
  onlyChanges.addEventListener("change", function () {
    document.body.classList.toggle("only-changes", onlyChanges.checked);
  });
  // The address may also be that of the main part, to which the first link of the page skips.
  window.addEventListener("hashchange", function () { show(stepOfAddress() || current); });

  document.addEventListener("click", function (event) {
    const link = event.target.closest("a[href^='#step=']");
    if (!link) return;
    event.preventDefault();
    stop();
    go(Number((link.getAttribute("href")).slice("#step=".length)));
  });

  // Without this script a link jumps to the section of its step. With it, the section is shown in place.
  for (const step of steps) step.removeAttribute("id");
  document.documentElement.classList.add("js");
  // A comparison opens where the specs part.
  const opens = Number(document.querySelector(".player").dataset.opens || 0);
  // The chart itself opens at its first step, unless the address names one.
  show(stepOfAddress() || opens || 1, stepOfAddress() !== null);
})();
