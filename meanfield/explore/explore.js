// Sliders, and the server's answer line by line: growth rates, a law, the frames of a run.

import { createView, pointsOf } from "./view.js";

const byId = (id) => document.getElementById(id);
// Keys of a query; sliders are logarithmic.
const NAMES = ["manifold", "beta", "carrier", "tokens", "normalization", "strength", "diffusivity", "length", "seed"];
const SLIDERS = ["beta", "tokens", "diffusivity", "length"];
// Milliseconds without a change before a query is sent.
const PAUSE = 60;
// Milliseconds between two drawings of a live run.
const BETWEEN = 120;
// On a phone the settings are folded.
const narrow = matchMedia("(max-width: 900px)");
const fold = () => { byId("settings").open = !narrow.matches; };
fold();
narrow.addEventListener("change", fold);
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** State of the page; tests read it. */
const page = { view: null, waiting: [], asked: 0, frames: 0, done: false, ready: false, changed: 0, took: {} };
window.explore = page;
let request = null;
let waiting = 0;

/** Number at the position of a slider; the left end of diffusivity is 0. */
function numberAt(name) {
  const slider = byId(`${name}-slider`);
  const value = Number(slider.value);
  if (name === "diffusivity" && value < -3) return "0";
  // The last step of a slider may exceed the range.
  const number = Math.min(10 ** value, Number(slider.dataset.most || Infinity));
  return String(name === "tokens" ? Math.round(number) : Number(number.toPrecision(3)));
}

function placeOf(name) {
  const slider = byId(`${name}-slider`), value = Number(byId(name).value);
  // A text that is not a number does not move the slider.
  if (value >= 0) slider.value = value > 0 ? Math.log10(value) : slider.min;
  slider.setAttribute("aria-valuetext", byId(name).value);
}

/** Send a query once the sliders have not moved for a moment. */
function change() {
  page.changed = performance.now();
  page.took = {};
  page.done = false;
  if (request) request.abort();
  request = null;
  byId("tokens").disabled = byId("tokens-slider").disabled = byId("carrier").value === "density";
  clearTimeout(waiting);
  waiting = setTimeout(ask, PAUSE);
}

async function ask() {
  const mine = request = new AbortController();
  page.asked += 1;
  page.frames = 0;
  const query = new URLSearchParams();
  for (const name of NAMES) if (!byId(name).disabled) query.set(name, byId(name).value.trim());
  status(page.ready ? "" : "loading kernels (up to a minute the first time)");
  try {
    const answer = await fetch(`run?${query}`, { signal: mine.signal, cache: "no-store" });
    if (!answer.ok) throw new Error(await answer.text());
    await lines(answer.body, (message) => { if (request === mine) show(message); });
    if (request === mine && !page.done) status("Another page took over: any change here takes it back.", false);
  } catch (error) {
    if (error.name === "AbortError" || request !== mine) return;
    status(`The server does not answer (${error.message}): is meanfield explore still running?`, true);
    page.done = true;
  }
}

/** Call `act` with every line of a stream. */
async function lines(stream, act) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    parts.filter(Boolean).forEach((part) => act(JSON.parse(part)));
  }
}

function show(message) {
  page.took[message.kind] ??= performance.now() - page.changed;
  ({ rates: showRates, begin, frame: ({ frame }) => later(frame), law: showLaw, event: showEvent,
    end: finish, failed: finish, refused }[message.kind] || (() => {}))(message);
}

/** Show a status text, which screen readers announce; progress beside it is not announced. */
function status(text, wrong = false) {
  byId("progress").textContent = "";
  byId("status").textContent = text;
  byId("status").classList.toggle("wrong", wrong);
}

function refused({ text }) {
  status(text, true);
  const name = NAMES.find((each) => text.startsWith(`${each} `));
  if (name) byId(name).setAttribute("aria-invalid", "true");
  page.done = true;
}

function begin({ header, frame, frames, note }) {
  NAMES.forEach((name) => byId(name).removeAttribute("aria-invalid"));
  if (!page.ready) status("");
  page.ready = true;
  const kept = page.view && page.view.header.shape === header.shape ? page.view.state : null;
  if (page.view) page.view.destroy();
  page.waiting = [];
  // Frames of the previous run may have arrived in the meantime.
  page.frames = 0;
  page.note = note ? `${note}. ` : "";
  page.total = frames;
  page.view = createView(byId("view"), header, null);
  // Keep the rotation of the previous view.
  if (kept) {
    const { turn, tilt, shape } = kept;
    Object.assign(page.view.state, { turn, tilt });
    if (shape !== page.view.state.shape) page.view.toggleShape();
  }
  add(frame);
  page.view.layout();
}

/** Collect frames and draw them together, as each drawing takes time. */
function later(frame) {
  page.waiting.push(frame);
  if (page.waiting.length > 1) return;
  const run = page.view;
  setTimeout(() => { if (page.view === run) flush(); }, BETWEEN);
}

function flush() {
  page.waiting.splice(0).forEach(add);
}

function add({ time, values, points, masses, curves }) {
  const { view } = page;
  view.append({
    time, curves,
    values: bytes(values),
    points: pointsOf(new Int16Array(bytes(points).buffer), view.header),
    masses: masses ? new Float32Array(bytes(masses).buffer) : null,
  });
  page.frames += 1;
  byId("progress").textContent = `${page.note}t = ${Number(time.toPrecision(4))}, ${page.frames} of ${page.total} saved times`;
}

function bytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

function showEvent({ time, text }) {
  page.view.header.events.push({ time, text });
}

function finish({ kind, text }) {
  if (page.view) flush();
  page.done = true;
  status(`${page.note || ""}${text}`, kind === "failed");
  // Play the run again, as live frames may be too fast.
  if (kind === "end" && !calm.matches && page.view.state.frame === page.view.frames.length - 1) {
    page.view.seek(0);
    page.view.play();
  }
}

/** Bar chart with a line at 0, at the width of its element. */
function bars(svg, entries, name) {
  const width = svg.clientWidth || 300, height = svg.clientHeight || 132;
  const left = 40, low = height - 16;
  const values = entries.map((each) => each.value);
  const top = Math.max(...values, 0), bottom = Math.max(Math.min(...values, 0), -2 * (top || Infinity));
  const span = top - bottom || 1;
  const y = (value) => 6 + ((low - 6) * (top - Math.max(value, bottom))) / span;
  const step = (width - left) / entries.length, every = Math.ceil(26 / step);
  const parts = entries.map(({ label, value, paint, title }, i) => {
    const x = left + i * step + 0.12 * step;
    const [from, to] = [Math.min(y(value), y(0)), Math.max(y(value), y(0))];
    const mark = i % every === 0 || paint === "--most";
    const near = entries.findIndex((each) => each.paint === "--most");
    const room = paint === "--most" || near < 0 || Math.abs(near - i) >= every;
    return `<rect x="${x}" y="${from}" width="${0.76 * step}" height="${Math.max(to - from, 0.5)}" fill="var(${paint})"><title>${title}</title></rect>${mark && room ? `<text x="${x + 0.38 * step}" y="${height - 2}" text-anchor="middle">${label}</text>` : ""}`;
  });
  const marks = [...new Set([top, 0, bottom])].filter((value) => value === 0 || Math.abs(y(value) - y(0)) > 12);
  const levels = marks.map((value) => `<text x="${left - 5}" y="${y(value) + 4}" text-anchor="end">${Number(value.toPrecision(2))}</text>`);
  svg.innerHTML = `${parts.join("")}<path d="M${left} ${y(0)}H${width}" stroke="var(--muted)"/>${levels.join("")}`;
  svg.setAttribute("aria-label", name);
}

function showRates(message) {
  page.rates = message;
  const { degrees, rates, dominant, critical_diffusivity: critical, text } = message;
  bars(byId("rates"), degrees.map((degree, i) => ({
    label: degree, value: rates[i], title: `degree ${degree}: ${rates[i].toPrecision(4)}`,
    paint: degree === dominant ? "--most" : rates[i] > 0 ? "--grows" : "--decays",
  })), `growth rates by degree: ${text}`);
  const more = critical > 0 && dominant !== null ? ` Critical diffusivity: ${Number(critical.toPrecision(4))}.` : "";
  byId("rates-text").textContent = text + more;
}

function showLaw(message) {
  page.law = message;
  const { law, text } = message;
  const most = Math.max(...law.map(([, share]) => share));
  const shown = law.filter(([, share]) => share >= 0.005 * most);
  byId("law").style.visibility = shown.length ? "visible" : "hidden";
  if (shown.length) {
    bars(byId("law"), shown.map(([count, share]) => ({
      label: count, value: share, title: `${count}: ${(100 * share).toFixed(1)} %`,
      paint: share === most ? "--most" : "--grows",
    })), `law of the number of clusters: ${text}`);
  }
  byId("law-text").textContent = text.replaceAll(" %", "\u00a0%");
}

for (const name of NAMES) {
  const field = byId(name);
  const slider = SLIDERS.includes(name) ? byId(`${name}-slider`) : null;
  field.addEventListener(field.tagName === "SELECT" ? "change" : "input", () => {
    field.removeAttribute("aria-invalid");
    if (slider) placeOf(name);
    change();
  });
  if (slider) {
    placeOf(name);
    slider.addEventListener("input", () => {
      field.value = numberAt(name);
      field.removeAttribute("aria-invalid");
      slider.setAttribute("aria-valuetext", field.value);
      change();
    });
  }
}
byId("another").addEventListener("click", () => {
  byId("seed").value = String((Number(byId("seed").value) || 0) + 1);
  change();
});
byId("sliders").addEventListener("submit", (event) => event.preventDefault());
addEventListener("pagehide", () => { if (request) request.abort(); });
new ResizeObserver(() => {
  if (page.rates) showRates(page.rates);
  if (page.law) showLaw(page.law);
}).observe(byId("rates"));
change();
