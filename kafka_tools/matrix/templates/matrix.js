// The page of settings. `tidemark(name, data)` is called by the files in the folder `matrix`.
"use strict";
const files = {}, arrivals = {};
let data, settings, cell = null, step = 1, was = null, timer = 0;
const $ = (id) => document.getElementById(id);

function tidemark(name, packed) {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  new Response(stream).json().then(name === "answers" ? start : arrivals[name]);
}

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// The settings and their answers.

const usual = (release, client) => data.presets[`${release}/${client}`];

// Settings with equal answers have one key, as key_of in switches.py says.
function keyOf(given) {
  const base = usual(given.release, given.client);
  const same = given["transactional.id"] === "none" ? { "isolation.level": base && base["isolation.level"] }
    : given["enable.idempotence"] === "true" ? { "enable.idempotence": "unset" } : {};
  return data.switches.map((each) => each.values.indexOf({ ...given, ...same }[each.name])).join("");
}

const only = (given, part) => Object.fromEntries(
  data.switches.filter((each) => each.part === part).map((each) => [each.name, given[each.name]]));

// The answers of the settings: their own, or those of the two parts, each with the defaults of the other one.
function answersOf(given) {
  const whole = data.configurations[keyOf(given)];
  const usually = usual(given.release, given.client);
  if (whole || !usually || given["transactional.id"] === "set") return whole;
  const base = { ...usually, controller: given.controller };
  const writes = data.configurations[keyOf({ ...base, ...only(given, "writes") })];
  const consumer = data.configurations[keyOf({ ...base, ...only(given, "consumer") })];
  if (!writes || !consumer) return undefined;
  if ("refused" in writes || "refused" in consumer) return "refused" in writes ? writes : consumer;
  const rows = data.failures.map((failure, number) =>
    failure.ofGroup ? consumer.rows[number] : failure.ofConsumer ? null : writes.rows[number]);
  return { ...writes, verdict: [], rows, merged: true };
}

// A row as a text that says why it has no answers, or as a list of cells; null is not computed, undefined not asked.
function rowOf(answers, number) {
  if (answers.rows[number] === null) return data.questions.map((question) => question.ofConsumer ? null : undefined);
  const row = data.rows[answers.rows[number]];
  if (typeof row === "number") return data.texts[row];
  const isWrites = answers.merged && !data.failures[number].ofGroup;
  return row.map((found, question) => {
    if (found < 0) return undefined;
    return isWrites && data.questions[question].ofConsumer ? null : data.cells[found];
  });
}

function cellOf(given, at) {
  const answers = answersOf(given);
  if (!answers || "refused" in answers) return undefined;
  const row = rowOf(answers, data.failures.findIndex((failure) => failure.slug === at.failure));
  return typeof row === "string" ? row : row[data.questions.findIndex((question) => question.name === at.question)];
}

const verdictOf = (found) => (Array.isArray(found) ? data.verdicts[found[0]] : "open");

function commandOf(given, failure) {
  const named = data.switches.filter((each) => each.name !== "isolation.level" || given["transactional.id"] === "set");
  const sets = named.map((each) => each.sets[each.values.indexOf(given[each.name])]).filter(Boolean);
  const commits = given.commits === "auto" ? "" : ` --commits ${given.commits}`;
  const controller = data.controllers[given.release].length > 1 && given.controller !== "unknown"
    ? ` --controller ${given.controller}` : "";
  const options = [...sets.map((each) => `--set ${each}`), ...(failure ? [`--failure ${failure}`] : [])];
  const head = `python -m checker advise my.properties --kafka ${given.release} --client ${given.client}${controller}${commits}`;
  return `echo acks=${given.acks} > my.properties\n${[head, ...options].join(" \\\n  ")}`;
}

// The address.

function address() {
  const base = usual(settings.release, settings.client) || {};
  const given = data.switches.map((each) => each.name)
    .filter((name) => ["release", "client"].includes(name) || settings[name] !== base[name])
    .map((name) => [name, settings[name]]);
  if (cell) given.push(["cell", `${cell.failure}/${cell.question}`], ["step", step]);
  if (cell && was) given.push(["was", Object.entries(was).map((pair) => pair.join(":")).join(",")]);
  return `#${new URLSearchParams(given)}`;
}

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const valid = (each) => each.values.includes(given.get(each.name));
  const [latest] = Object.values(data.presets);
  const [release, client] = data.switches;
  const named = { release: valid(release) ? given.get("release") : latest.release,
    client: valid(client) ? given.get("client") : latest.client };
  settings = { ...latest, ...usual(named.release, named.client), ...named };
  for (const each of data.switches) if (valid(each)) settings[each.name] = given.get(each.name);
  settings = fitted(settings);
  const [failure, question] = (given.get("cell") || "").split("/");
  const exists = data.failures.some((each) => each.slug === failure) && data.questions.some((each) => each.name === question);
  cell = exists ? { failure, question } : null;
  step = Number(given.get("step")) || 1;
  was = given.get("was") ? Object.fromEntries(given.get("was").split(",").map((pair) => pair.split(":"))) : null;
}

// The settings with a controller that their release has.
function fitted(given) {
  const modes = data.controllers[given.release];
  return modes.includes(given.controller) ? given : { ...given, controller: modes[0] };
}

function show() {
  const wanted = address();
  if (location.hash !== wanted) history.replaceState(null, "", wanted);
  showSwitches();
  showVerdict();
  showMatrix();
  return showPicture();
}

// The switches.

const TITLES = { "": "Release, client and controller", producer: "Producer", topic: "Topic and brokers", consumer: "Consumer" };

function makeSwitches() {
  for (const [role, title] of Object.entries(TITLES)) {
    const group = element("fieldset", {}, element("legend", {}, title));
    for (const each of data.switches.filter((found) => found.role.replace("broker", "topic") === role)) {
      const options = each.values.map((value, number) => element("label", {},
        element("input", { type: "radio", name: each.name, value, onchange: () => change({ [each.name]: value }) }),
        each.labels[number]));
      group.append(element("div", { class: "switch", role: "radiogroup", "aria-label": each.title },
        element("span", { id: `of-${each.name}` }, ...breakable(each.title)), element("div", { class: "options" }, ...options)));
    }
    $("groups").append(group);
  }
  $("preset").append(element("option", { value: "" }, "…"), ...Object.entries(data.presets).map(([name, each]) =>
    element("option", { value: name }, `Kafka ${each.release}, ${each.client === "java" ? "Java client" : each.client}`)));
  $("preset").addEventListener("change", () => $("preset").value && change({ ...data.presets[$("preset").value] }));
  $("read").addEventListener("click", readPasted);
  $("switches").addEventListener("submit", (event) => event.preventDefault());
}

function showSwitches() {
  for (const input of document.querySelectorAll("#groups input")) {
    input.checked = settings[input.name] === input.value;
    input.disabled = input.name === "controller" && !data.controllers[settings.release].includes(input.value);
  }
  $("of-isolation.level").textContent = `isolation.level${settings["transactional.id"] === "set" ? "" : " (no effect without transactional.id)"}`;
  const answers = answersOf(settings);
  const decided = settings["enable.idempotence"] === "unset" && answers && answers.idempotence;
  $("of-enable.idempotence").textContent = `enable.idempotence${decided ? ` (${answers.idempotence} in effect)` : ""}`;
  const same = Object.entries(data.presets).find(([, each]) => keyOf(each) === keyOf(settings));
  $("preset").value = same ? same[0] : "";
}

function change(values) {
  stop();
  settings = fitted({ ...settings, ...values });
  was = null;
  step = 1;
  show();
}

const ALIASES = { "request.required.acks": "acks", "enable.idempotence": "enable.idempotence",
  "max.in.flight": "max.in.flight.requests.per.connection", "log.flush.interval.messages": "flush.messages",
  "process.roles": "controller", "zookeeper.connect": "controller", "message.send.max.retries": "retries", "default.replication.factor": "replication.factor" };

function readPasted() {
  const values = {}, unread = [];
  for (const line of $("pasted").value.split("\n").map((each) => each.trim())) {
    if (!line || /^[#!]/.test(line)) continue;
    const [, written, value] = /^([^=:\s]+)\s*[=:\s]\s*(.*)$/.exec(line) || [null, line, ""];
    const plain = written.replace(/^(spring\.kafka\.)?(producer|consumer|topic)\./, "");
    const name = ALIASES[plain] || plain;
    const problem = name === "controller" ? readController(plain, values) : readSetting(name, value.trim(), values);
    if (problem) unread.push(`${written}: ${problem}`);
  }
  if (unread.length) unread.unshift("The answers below leave out these lines, and may be wrong for your file:");
  $("unread").replaceChildren(...unread.map((text) => element("li", { class: "warn" }, text)));
  change({ ...usual(settings.release, settings.client), ...values });
}

function readController(name, values) {
  const mode = name === "process.roles" ? "kraft" : "zookeeper";
  if (name === "controller") return "not a setting of Kafka";
  if (!data.controllers[settings.release].includes(mode)) return `Kafka ${settings.release} has another controller on this page`;
  if (values.controller && values.controller !== mode) return "of a cluster that migrates, which advise reads";
  values.controller = mode;
  return "";
}

// Set the switch of a setting, or return why the page has none.
function readSetting(name, value, values) {
  if (name === "enable.auto.commit") {
    if (!["true", "false"].includes(value)) return "is neither true nor false";
    values.commits = value === "true" ? "auto" : "last";
    return "";
  }
  if (name === "transactional.id") {
    values[name] = value ? "set" : "none";
    return "";
  }
  const found = name === "commits" ? undefined : data.switches.find((each) => each.name === name && each.role);
  if (!found) return "not a switch of this page; advise reads it";
  const meant = name === "acks" && value === "-1" ? "all" : value.toLowerCase();
  if (!found.values.includes(meant)) return `${value} is not computed here; advise answers it`;
  values[name] = meant;
  return "";
}

// The verdict and the table.

function showVerdict() {
  const answers = answersOf(settings);
  const lines = [];
  if (!answers) {
    lines.push(element("p", { class: "warn" }, "These settings are not computed here. This command answers:"),
      element("pre", {}, commandOf(settings)));
  } else if ("refused" in answers) {
    lines.push(element("p", { class: "warn" }, `Kafka does not start with these settings: ${data.texts[answers.refused]}`));
  } else {
    if (answers.merged) lines.push(element("p", {}, "The settings of the producer and of the consumer both differ from " +
      "the defaults. The page has the answers of each part; a dot is a cell that depends on both. This command answers all:"),
    element("pre", {}, commandOf(settings)));
    lines.push(...answers.verdict.map((number) => element("p", {}, data.texts[number])));
    if (answers.transactions.length) lines.push(element("details", { id: "transactions" },
      element("summary", {}, "Transactions: can it be that …"),
      element("ul", {}, ...answers.transactions.map((number) => element("li", {}, data.texts[number])))));
  }
  $("verdict").replaceChildren(...lines);
  const notes = answers && answers.notes ? [...answers.notes.map((number) => data.texts[number]),
    `Not explored: ${data.texts[answers.unexplored]}.`, ...data.assumptions] : [];
  const entries = element("a", { href: `museum.html#release=${settings.release}` }, `The known bugs of Kafka ${settings.release}`);
  $("more").replaceChildren(element("ul", {}, ...notes.map((text) => element("li", {}, text)), element("li", {}, entries)));
}

function showMatrix() {
  const answers = answersOf(settings);
  const focus = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.at : "";
  const head = element("tr", {}, element("th", { scope: "col" }, "… after"),
    ...data.questions.map((question) => element("th", { scope: "col" }, question.heading)));
  const body = element("tbody");
  for (const [number, failure] of answers && answers.rows ? data.failures.entries() : []) {
    const row = element("tr", {}, element("th", { scope: "row" }, failure.name));
    const found = rowOf(answers, number);
    if (typeof found === "string") row.append(element("td", { class: "reason", colspan: data.questions.length }, found));
    else row.append(...found.map((each, question) => element("td", {}, ...cellButton(each, failure, data.questions[question]))));
    body.append(row);
  }
  $("matrix").replaceChildren(element("thead", {}, head), body);
  const again = focus && document.querySelector(`#matrix [data-at="${focus}"]`);
  if (again) again.focus({ preventScroll: true });
}

function cellButton(found, failure, question) {
  if (found === undefined) return [];
  const verdict = verdictOf(found), at = `${failure.slug}/${question.name}`;
  const isChosen = Boolean(cell) && cell.failure === failure.slug && cell.question === question.name;
  return [element("button", { type: "button", class: verdict, "data-at": at, "aria-pressed": String(isChosen),
    "aria-label": `${question.verb} ${failure.phrase}: ${verdict === "open" ? "not computed" : verdict}`,
    onclick: () => choose({ failure: failure.slug, question: question.name }) }, ...cellText(found))];
}

function cellText(found) {
  if (found === null) return ["·"];
  const [, coincidences, states, , hazards] = found;
  const size = element("small", {}, `${states.toLocaleString("en")} states`);
  const verdict = verdictOf(found);
  if (verdict === "yes") return [`✗ yes${coincidences ? `/${coincidences}` : ""}`, element("small", {}, `${found[7]} steps`)];
  if (verdict === "known") return [hazards.join(", "), size];
  return [verdict === "no" ? "✓ no" : "?", size];
}

function choose(at) {
  stop();
  cell = at;
  was = null;
  step = 1;
  show();
  $("picture").scrollIntoView({ block: "start" });
  if (verdictOf(cellOf(settings, cell)) === "yes" && !matchMedia("(prefers-reduced-motion: reduce)").matches) play();
}

// The picture of a cell.

function pictureOf(number) {
  const name = `pictures-${Math.floor(number / data.perFile)}`;
  files[name] ||= new Promise((resolve) => {
    arrivals[name] = resolve;
    document.head.append(element("script", { src: `matrix/${name}.js` }));
  });
  return files[name].then((pictures) => pictures[number % data.perFile]);
}

// The counterexample of the cell: its own, or that of the settings before a repair, with the repair.
function shown() {
  const before = was ? { ...settings, ...was } : settings;
  const found = cell ? cellOf(before, cell) : undefined;
  const repair = was && Array.isArray(found)
    ? data.repairs[found[6]].find(([changes]) => String(Object.keys(changes).sort()) === String(Object.keys(was).sort()) &&
      Object.entries(changes).every(([name, value]) => settings[name] === value))
    : undefined;
  return was && !repair ? { found: cellOf(settings, cell) } : { found, repair };
}

async function showPicture() {
  const place = $("picture");
  place.hidden = !cell;
  if (!cell) return;
  const wanted = address();
  const { found, repair } = shown();
  const failure = data.failures.find((each) => each.slug === cell.failure);
  const question = data.questions.find((each) => each.name === cell.question);
  const parts = [element("h2", {}, headingOf(failure, question))];
  if (repair) parts.push(...repairParts(repair, failure, question));
  const picture = Array.isArray(found) && found[5] >= 0 ? await pictureOf(found[5]) : null;
  if (address() !== wanted) return;
  if (picture) parts.push(...pictureParts(picture, found, repair));
  else parts.push(element("p", {}, withoutPicture(found)));
  if (picture && !repair) parts.splice(1, 0, ...repairButtons(found));
  parts.push(...factParts(repair ? cellOf(settings, cell) : found, failure));
  const focus = place.contains(document.activeElement) ? document.activeElement.id : "";
  place.replaceChildren(...parts);
  if (focus && $(focus)) $(focus).focus({ preventScroll: true });
  markStep(repair);
  scrollToStep();
}

function headingOf(failure, question) {
  const subject = question.name === "loss" ? "An acknowledged record" : "A record";
  const verdict = verdictOf(cellOf(settings, cell));
  const may = { yes: "may be", known: "may be", no: "is never", undecided: "was not found to be", open: "" }[verdict];
  return may ? `${subject} ${may} ${question.verb} ${failure.phrase}` : `${question.verb} ${failure.phrase}: no answer here`;
}

function withoutPicture(found) {
  if (typeof found === "string") return `The row ${found}.`;
  if (!found) return "This cell is not computed here. The command below answers it.";
  const size = data.texts[found[3]];
  const text = { no: `The exploration found no counterexample in ${size}: it is complete.`,
    known: `The exploration found no counterexample (${size}). A known bug, which the model does not have, says yes:`,
    undecided: `Not decided, and not safe: no counterexample ${size}, and the model lacks rules of these settings.` };
  return text[verdictOf(found)];
}

// A line may end after each dot of a setting's name.
const breakable = (text) => text.split(/(?<=\.)/).flatMap((part) => [part, element("wbr")]);

const changesText = (changes) => Object.entries(changes).map(([name, value]) => {
  const each = data.switches.find((found) => found.name === name);
  return `${each.title}=${each.labels[each.values.indexOf(value)]}`;
}).join(" and ");

function repairButtons(found) {
  const repairs = data.repairs[found[6]];
  if (!repairs.length) return [element("p", { class: "warn" }, "No computed change of one or two switches prevents it. The command below searches further changes.")];
  return [element("div", { class: "repairs" }, element("span", {}, "It is prevented by"),
    ...repairs.map(([changes, cost, weakens]) => element("button", { type: "button", class: weakens ? "weak" : "",
      title: data.texts[cost], onclick: () => repairBy(changes) },
    ...breakable(`${changesText(changes)}${weakens ? " (gives up another guarantee)" : ""}${remaining(changes)}`))))];
}

// The known bugs that the exploration with some changes does not have.
function remaining(changes) {
  const found = cellOf({ ...settings, ...changes }, cell);
  return verdictOf(found) === "known" ? ` (but for ${found[4].join(", ")})` : "";
}

function repairBy(changes) {
  stop();
  const before = Object.fromEntries(Object.keys(changes).map((name) => [name, settings[name]]));
  const [, , , divergence] = data.repairs[cellOf(settings, cell)[6]].find(([found]) => found === changes);
  settings = { ...settings, ...changes };
  was = before;
  step = divergence ? divergence[0] : 1;
  show();
  $("picture").focus({ preventScroll: true });
}

function repairParts([changes, cost, , divergence]) {
  const with_ = `${changesText(changes)}${remaining({})}`;
  const undo = element("button", { type: "button", id: "undo", onclick: () => change({ ...was }) }, "Undo the change");
  const said = !divergence ? `With ${with_} the same steps do not lead to it.`
    : divergence[1] ? `With ${with_} the same schedule is refused at step ${divergence[0]}.`
      : `With ${with_} the same schedule diverges at step ${divergence[0]}: ${data.texts[divergence[2]]}`;
  const parts = [element("p", { class: "ok", id: "repaired" }, element("b", {}, said))];
  if (divergence && divergence[1]) parts.push(element("details", {}, element("summary", {}, "Why"),
    element("code", {}, data.texts[divergence[2]])));
  if (data.texts[cost]) parts.push(element("p", {}, `Cost: ${data.texts[cost]}.`));
  return [...parts, element("p", {}, undo)];
}

function pictureParts([steps, outcome, chart], found, repair) {
  step = Math.min(Math.max(step, 1), steps.length);
  const button = (id, text, to) => element("button", { type: "button", id, disabled: to < 1 || to > steps.length || to === step,
    onclick: () => { stop(); go(to); } }, text);
  const player = element("div", { class: "player" }, button("first", "First", 1), button("back", "Back", step - 1),
    element("button", { type: "button", id: "play", onclick: () => { if (timer) { stop(); showPicture(); } else play(); } }, timer ? "Pause" : "Play"),
    button("forward", "Next", step + 1), button("last", "Last", steps.length),
    element("span", { id: "position" }, `step ${step} of ${steps.length}`));
  const isLast = step === steps.length && !repair;
  const isRefused = repair && repair[3] && step === repair[3][0];
  const text = isRefused ? `${steps[step - 1]} ${repair[3][1] ? "← refused now" : "← other now"}` : steps[step - 1];
  const said = element("p", { class: `said${isLast ? " bad" : ""}${isRefused ? " refused" : ""}`, role: "status", id: "said" },
    element("b", {}, `${step} `), text, ...(isLast ? [element("br"), element("b", { class: "bad" }, `✗ ${outcome}`)] : []));
  const drawn = element("div");
  drawn.innerHTML = chart;
  drawn.addEventListener("click", (event) => {
    const at = event.target.closest("[data-step]") || event.target.closest("a") && event.target.closest("a").querySelector("[data-step]");
    if (!at) return;
    event.preventDefault();
    stop();
    go(Number(at.dataset.step));
  });
  return [player, said, drawn];
}

function markStep(repair) {
  for (const each of document.querySelectorAll("#picture [data-step]")) {
    each.classList.toggle("now", Number(each.dataset.step) === step);
    if (repair && repair[3] && Number(each.dataset.step) === repair[3][0]) each.classList.add("refused");
  }
}

// Bring the step and its lane into the box of the chart, which has no room for all of them in a narrow window.
function scrollToStep() {
  const row = document.querySelector("#picture .chart-steps .now");
  if (!row) return;
  const box = row.closest(".chart"), lanes = box.querySelector(".chart-lanes");
  if (row.dataset.x) box.scrollLeft = lanes.offsetLeft + lanes.offsetWidth * row.dataset.x / 100 - box.clientWidth / 2;
  box.scrollTop += row.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 2;
}

function go(to) {
  step = to;
  history.replaceState(null, "", address());
  showPicture();
}

function play() {
  stop();
  timer = setInterval(() => {
    const last = document.querySelectorAll("#picture .chart-steps li").length;
    if (last && step >= last) { stop(); showPicture(); return; }
    if (last) go(step + 1);
  }, 1800);
  showPicture();
}

function stop() {
  clearInterval(timer);
  timer = 0;
}

// Below the picture: what is known, and the command that checks the cell again.

function factParts(found, failure) {
  const names = Array.isArray(found) ? found[4] : [];
  const facts = names.map((name) => {
    const hazard = data.hazards[name];
    const tickets = hazard.tickets.flatMap(([ticket, url]) => [" ", element("a", { href: url }, ticket)]);
    const title = element("b", {}, name);
    const linked = hazard.page ? element("a", { href: hazard.page }, title) : title;
    return element("li", {}, element("p", {}, linked, ` ${hazard.title}.`, ...tickets),
      element("p", {}, `It needs: ${hazard.needs} Remedy: ${hazard.remedy}`),
      ...hazard.seen.map((text) => element("p", {}, element("b", {}, "Real brokers: "), text)),
      ...(hazard.command ? [element("p", {}, element("code", {}, hazard.command))] : []));
  });
  const parts = [];
  if (facts.length) parts.push(element("h3", {}, `In the catalogue, for Kafka ${settings.release}`), element("ul", { class: "facts" }, ...facts));
  parts.push(element("h3", {}, "This command checks it again"), element("pre", {}, commandOf(settings, failure.slug)));
  return parts;
}

function start(content) {
  data = content;
  makeSwitches();
  readAddress();
  show().then(() => cell && $("picture").scrollIntoView({ block: "start" }));
  addEventListener("hashchange", () => { stop(); readAddress(); show(); });
}
