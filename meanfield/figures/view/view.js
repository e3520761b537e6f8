// View of a run of tokens or densities: a globe or a map, a ring or a ribbon, a cloud; with curves
// over time and a slider. `frames.js` and `scene.js` are parts of this module and precede it,
// because a page without a server cannot import.

// Margins around plots against time, in pixels.
const LEFT = 34, RIGHT = 6, TOP = 4, BELOW = 20;

const STYLE = `
.mf { --ink: #22262b; --muted: #626a74; --line: #d5d9de; --page: #fff; --soft: #f3f4f6;
  --energy: #c2432d; --order: #2f6db3; --count: #8d96a1; --dot: #22262b;
  color: var(--ink); background: var(--page); font: 14px/1.4 system-ui, sans-serif;
  box-sizing: border-box; padding: 12px 16px; max-width: 1600px; margin: 0 auto; }
@media (prefers-color-scheme: dark) { .mf { --ink: #e8eaed; --muted: #a2abb6; --line: #3c424a;
  --page: #16181c; --soft: #22262b; --energy: #f08a75; --order: #7db4f0; --count: #8d96a1;
  --dot: #e8eaed; } }
.mf * { box-sizing: border-box; }
.mf h1 { font-size: 17px; margin: 0; overflow-wrap: anywhere; }
.mf p { margin: 1px 0 0; color: var(--muted); overflow-wrap: anywhere; }
.mf details { margin-top: 6px; font-size: 12px; color: var(--muted); }
.mf summary { cursor: pointer; width: max-content; }
.mf .body { display: grid; grid-template-columns: minmax(0, 1.15fr) minmax(0, 1fr); gap: 16px;
  margin: 10px 0; height: clamp(300px, calc(100vh - 160px), 60vw); }
.mf .body > div { display: flex; flex-direction: column; min-height: 0; }
.mf .stage { position: relative; flex: 1; min-height: 200px; }
.mf canvas { display: block; width: 100%; height: 100%; }
.mf .stage canvas { position: absolute; inset: 0; }
.mf .stage.turns canvas { touch-action: none; }
.mf canvas:focus-visible, .mf button:focus-visible, .mf input:focus-visible {
  outline: 2px solid var(--order); outline-offset: 2px; }
.mf .stage.turns canvas { cursor: grab; }
.mf .instead { position: absolute; inset: 20% 10%; text-align: center; color: var(--muted); }
.mf figure { margin: 0 0 10px; flex: 1; min-height: 0; display: flex; flex-direction: column; }
.mf figure[hidden] { display: none; }
.mf figcaption { margin-left: ${LEFT}px; font-size: 12px; color: var(--muted); display: flex; flex-wrap: wrap;
  gap: 2px 12px; }
.mf figcaption i { display: inline-block; width: 14px; height: 3px; vertical-align: 3px;
  margin-right: 4px; }
.mf .plot { position: relative; flex: 1; min-height: 70px; cursor: pointer; touch-action: pan-y; }
.mf .plot * { touch-action: inherit; }
.mf .plot svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible; }
.mf .plot canvas { position: absolute; left: ${LEFT}px; top: ${TOP}px;
  width: calc(100% - ${LEFT + RIGHT}px); height: calc(100% - ${TOP + BELOW}px); }
.mf text { font: 11px system-ui, sans-serif; fill: var(--muted); }
.mf .controls { display: flex; flex-wrap: wrap; gap: 8px 14px; align-items: center; }
.mf .controls input[type=range] { flex: 1 1 220px; min-width: 0; accent-color: var(--order);
  height: 28px; }
.mf button { font: inherit; color: inherit; background: var(--soft); border: 1px solid var(--line);
  border-radius: 6px; padding: 4px 12px; min-height: 32px; cursor: pointer; }
.mf button[aria-pressed=true] { border-color: var(--order); box-shadow: inset 0 0 0 1px var(--order); }
.mf output { font-variant-numeric: tabular-nums; min-width: 9.5em; }
.mf label { white-space: nowrap; min-height: 28px; }
.mf .scale { display: flex; align-items: center; gap: 8px; font-size: 12px; color: var(--muted); }
.mf .scale span.bar { flex: 0 1 180px; height: 9px; border-radius: 2px; }
@media (max-width: 720px) { .mf { padding: 8px 10px; } .mf .body { grid-template-columns: minmax(0, 1fr); height: auto; }
  .mf .stage { flex: none; aspect-ratio: 1.15; } .mf .plot { flex: none; height: 130px; } }
`;

const UNITS = { scaled: "scaled time", paper: "paper time", growth: "growth times", layers: "layers" };
const FRAMES_A_SECOND = 12;
const QUARTER = Math.PI / 2;

/** A view within an element. `data` are the bytes of the arrays, or null if frames follow. */
export function createView(element, header, data) {
  const view = new View(element, header, data ? framesOf(header, data) : []);
  view.layout();
  return view;
}

class View {
  constructor(element, header, frames) {
    this.header = header;
    this.frames = frames;
    this.listeners = [];
    this.places = [];
    const [plain, other] = { globe: ["globe", "map"], ring: ["ring", "ribbon"],
      strip: ["ribbon", null], cloud: ["cloud", null] }[header.shape];
    this.shapes = [plain, other];
    this.state = { position: 0, frame: 0, playing: false, shape: plain, turn: header.front[0], tilt: header.front[1],
      points: true, grid: true, logarithmic: header.logarithmic };
    if (header.start && header.start < frames.length) this.state.position = this.state.frame = header.start;
    // The view opens at a late frame; playing starts at the first.
    this.opened = true;
    const letters = atob(header.palette);
    this.palette = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    this.build(element);
    this.observer = new ResizeObserver(() => this.layout());
    this.observer.observe(this.root);
    this.dark = window.matchMedia("(prefers-color-scheme: dark)");
    this.recolour = () => this.layout();
    this.dark.addEventListener("change", this.recolour);
  }

  /** Elements of the page. */
  build(element) {
    const header = this.header;
    element.replaceChildren();
    const root = this.root = document.createElement("section");
    root.className = "mf";
    const source = [];
    if (header.source.file) source.push(header.source.file);
    if (header.source.hash) source.push(`results sha256 ${header.source.hash.slice(0, 16)}`);
    root.innerHTML = `<style>${STYLE}</style>
      <header><h1></h1><p class="facts"></p></header>
      <div class="body">
        <div>
          <div class="stage"><canvas tabindex="0" role="img"></canvas></div>
          <div class="scale"></div>
        </div>
        <div>
          <figure class="history"><div class="plot"><canvas></canvas><svg></svg></div>
            <figcaption></figcaption></figure>
          <figure class="curves"><div class="plot"><svg></svg></div><figcaption></figcaption></figure>
        </div>
      </div>
      <div class="controls">
        <button class="play" type="button">Play</button>
        <input type="range" min="0" step="any" value="0" aria-label="saved time">
        <output></output>
        <button class="shape" type="button"></button>
        <label><input type="checkbox" class="points" checked> tokens</label>
        <label><input type="checkbox" class="grid" checked> grid</label>
        <label><input type="checkbox" class="log"> log time</label>
      </div>
      <details><summary>About this view</summary><p class="notes"></p></details>`;
    element.append(root);
    const find = (query) => root.querySelector(query);
    find("h1").textContent = header.title || header.facts || "A run";
    if (header.status) {
      const status = document.createElement("small");
      // The status up to the first colon; the full text is a tooltip.
      status.textContent = ` (${header.status.split(":")[0]})`;
      status.title = header.status;
      find("h1").append(status);
    }
    find(".facts").textContent = header.title ? header.facts : "";
    find(".facts").hidden = !header.title;
    find(".notes").textContent = [...source, ...(header.notes || [])].join(" \u00b7 ");
    this.stage = find(".stage");
    this.canvas = find(".stage canvas");
    this.history = find(".history");
    this.curves = find(".curves");
    this.playButton = find(".play");
    this.slider = find("input[type=range]");
    this.clock = find("output");
    this.shapeButton = find("button.shape");
    this.boxes = { points: find(".points"), grid: find(".grid"), logarithmic: find(".log") };
    if (this.frames.length && !this.frames.some((frame) => frame.points.length)) {
      this.boxes.points.disabled = true;
      this.boxes.points.checked = false;
      this.boxes.points.nextSibling.textContent = " tokens (the run stores none)";
    }
    this.shapeButton.hidden = !this.shapes[1];
    this.boxes.logarithmic.checked = this.state.logarithmic;
    this.history.hidden = !(header.values && header.shape !== "globe") && !header.shares;
    this.describe();
    this.listen();
    if (header.shape === "globe" || header.shape === "cloud") {
      this.scene = sceneOf(this.canvas, this.palette);
      this.stage.classList.add("turns");
      if (!this.scene) {
        const instead = document.createElement("p");
        instead.className = "instead";
        instead.textContent = "This picture needs WebGL 2, which this browser does not offer. " +
          "What happened over time is shown all the same.";
        this.stage.append(instead);
      }
      // Browsers limit the number of contexts, and a machine may lose them when it sleeps.
      this.canvas.addEventListener("webglcontextlost", (event) => {
        event.preventDefault();
        this.scene = null;
      });
      this.canvas.addEventListener("webglcontextrestored", () => {
        this.scene = sceneOf(this.canvas, this.palette);
        this.draw();
      });
    }
  }

  /** Labels for screen readers, and colours of the scale. */
  describe() {
    const { header, state } = this;
    const what = { globe: "density on the sphere, seen from one side", map: "density on an equal-area map of the sphere",
      ring: "density around the circle", ribbon: "density against the angle", cloud: "tokens on three axes" };
    this.canvas.setAttribute("aria-label", `${what[state.shape]}; arrow keys move in time`);
    this.shapeButton.textContent = state.shape === this.shapes[0] ? this.shapes[1] || "" : this.shapes[0];
    this.shapeButton.setAttribute("aria-label", `show the ${this.shapeButton.textContent}`);
    this.playButton.textContent = state.playing ? "Pause" : "Play";
    this.playButton.setAttribute("aria-pressed", state.playing);
    const scale = this.root.querySelector(".scale");
    scale.replaceChildren();
    if (header.values) {
      const bar = document.createElement("span");
      bar.className = "bar";
      const stops = [0, 51, 102, 153, 204, 255].map((q) => colour(this.palette, q));
      bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
      const [low, high] = header.values.colours.map((each) => Number(each.toPrecision(2)));
      // An even density of polar angles is not the uniform one on the sphere.
      const [name, one] = header.shape === "strip" ? ["density of the angle", "even"] : ["density", "uniform"];
      scale.append(`${name} ${low}`, bar, `${high} (${one}: 1)`);
    }
  }

  listen() {
    const { slider, canvas } = this;
    this.playButton.addEventListener("click", () => (this.state.playing ? this.pause() : this.play()));
    slider.addEventListener("input", () => { this.pause(); this.seek(Number(slider.value)); });
    this.shapeButton.addEventListener("click", () => this.toggleShape());
    for (const [name, box] of Object.entries(this.boxes)) {
      box.addEventListener("change", () => {
        this.state[name] = box.checked;
        this.layout();
      });
    }
    this.root.addEventListener("keydown", (event) => this.key(event));
    let last = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (!event.isPrimary) return;
      last = [event.clientX, event.clientY];
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!last || !this.scene || !event.isPrimary) return;
      const unit = 2 / canvas.clientHeight;
      this.state.turn -= (event.clientX - last[0]) * unit;
      const tilt = this.state.tilt + (event.clientY - last[1]) * unit;
      this.state.tilt = Math.max(-QUARTER, Math.min(QUARTER, tilt));
      last = [event.clientX, event.clientY];
      this.draw();
    });
    const release = () => { last = null; };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    for (const figure of [this.history, this.curves]) {
      const plot = figure.querySelector(".plot");
      const go = (event) => {
        const box = plot.getBoundingClientRect();
        const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
        this.pause();
        this.seek(this.positionAt(share));
      };
      plot.addEventListener("pointerdown", (event) => { plot.setPointerCapture(event.pointerId); go(event); });
      plot.addEventListener("pointermove", (event) => { if (event.buttons) go(event); });
    }
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = {
      " ": () => (this.state.playing ? this.pause() : this.play()),
      ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1),
      Home: () => this.seek(0), End: () => this.seek(this.frames.length - 1),
      m: () => this.toggleShape(),
      t: () => this.boxes.points.click(), g: () => this.boxes.grid.click(),
    };
    const act = keys[event.key];
    if (!act || (event.key === " " && (event.target.tagName === "BUTTON" || event.target.type === "checkbox"))) return;
    event.preventDefault();
    act();
  }

  /** Unit of times. */
  unit() { return UNITS[this.header.unit] || this.header.unit; }

  /** Move by whole frames. */
  step(by) {
    this.pause();
    this.seek(Math.round(this.state.position) + by);
  }

  toggleShape() {
    if (!this.shapes[1]) return;
    this.state.shape = this.shapes[this.state.shape === this.shapes[0] ? 1 : 0];
    this.layout();
  }

  /** Show a place between frames, such as 3.5. */
  seek(position) {
    this.opened = false;
    const last = Math.max(this.frames.length - 1, 0);
    this.state.position = Math.max(0, Math.min(last, position));
    this.state.frame = Math.round(this.state.position);
    this.draw();
    this.listeners.forEach((listener) => listener(this.state.position));
  }

  play() {
    if (this.state.playing || this.frames.length < 2) return;
    if (this.opened || this.state.position >= this.frames.length - 1) this.seek(0);
    this.state.playing = true;
    this.describe();
    let before = null;
    const tick = (now) => {
      if (!this.state.playing) return;
      const passed = before === null ? 0 : Math.min(now - before, 100) / 1000;
      before = now;
      this.seek(this.state.position + passed * FRAMES_A_SECOND);
      if (this.state.position >= this.frames.length - 1) this.pause();
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  pause() {
    if (!this.state.playing) return;
    this.state.playing = false;
    this.describe();
  }

  /** Call a function whenever another time is shown. */
  onSeek(listener) { this.listeners.push(listener); }

  /** Add a frame of a continuing run: {time, values, shares, points, masses, curves}. */
  append(frame) {
    const atEnd = this.state.position >= this.frames.length - 1.01;
    this.frames.push(frame);
    const curves = this.header.curves;
    curves.times.push(frame.time);
    for (const [name, value] of Object.entries(frame.curves || {})) {
      (curves[name] = curves[name] || Array(curves.times.length - 1).fill(null)).push(value);
    }
    if (atEnd) {
      this.state.position = this.frames.length - 1;
      this.state.frame = this.state.position;
    }
    this.plotted = false;
    this.request();
  }

  /** Draw once before the next repaint. */
  request() {
    if (this.requested) return;
    this.requested = requestAnimationFrame(() => { this.requested = 0; this.draw(); });
  }

  /** Remove the view and its listeners. */
  destroy() {
    this.state.playing = false;
    this.observer.disconnect();
    this.dark.removeEventListener("change", this.recolour);
    if (this.scene) this.scene.lose();
    this.scene = null;
    this.root.remove();
  }

  glError() { return this.scene ? this.scene.gl.getError() : 0; }

  /** Colour [r, g, b, a] at a point of the sphere; null if it is hidden. */
  pixelAt(point) {
    this.draw();
    return this.scene ? this.scene.pixel(point, this.camera()) : null;
  }

  camera() {
    const { turn, tilt, shape } = this.state;
    const [ca, sa] = [Math.cos(turn), Math.sin(turn)];
    const lift = shape === "map" ? 0 : tilt;
    const [cb, sb] = [Math.cos(lift), Math.sin(lift)];
    // Rows: right, up, towards the viewer.
    return [-sa, ca, 0, -sb * ca, -sb * sa, cb, cb * ca, cb * sa, sb];
  }

  /** Two frames and the share of the second. */
  between() {
    const first = Math.min(Math.floor(this.state.position), Math.max(this.frames.length - 2, 0));
    const second = Math.min(first + 1, this.frames.length - 1);
    return [this.frames[first], this.frames[second], this.state.position - first];
  }

  /** Time at the slider, between frames. */
  time() {
    const [a, b, share] = this.between();
    if (share <= 0 || a === b) return a.time;
    if (share >= 1) return b.time;
    if (this.state.logarithmic && a.time > 0) {
      return Math.exp(Math.log(a.time) * (1 - share) + Math.log(b.time) * share);
    }
    return a.time * (1 - share) + b.time * share;
  }

  /** Points between two frames: along arcs of the sphere and the circle. */
  points() {
    const [a, b, share] = this.between();
    const near = share < 0.5 ? a : b;
    if (!this.state.points || !a.points.length) return { at: new Float32Array(0), masses: null };
    if (a.points.length !== b.points.length || a.masses || b.masses) return { at: near.points, masses: near.masses };
    const at = new Float32Array(a.points.length);
    const circular = this.header.shape === "ring";
    for (let i = 0; i < at.length; i++) {
      let gap = b.points[i] - a.points[i];
      if (circular) gap -= 2 * Math.PI * Math.round(gap / (2 * Math.PI));
      at[i] = a.points[i] + share * gap;
    }
    if (this.header.shape === "globe") {
      for (let i = 0; i < at.length; i += 3) {
        const length = Math.hypot(at[i], at[i + 1], at[i + 2]) || 1;
        for (let k = 0; k < 3; k++) at[i + k] /= length;
      }
    }
    return { at, masses: null };
  }

  /** Fit the canvases to the page, and redraw everything. */
  layout() {
    this.root.querySelectorAll("canvas").forEach(fit);
    this.plotted = false;
    this.describe();
    this.draw();
  }

  draw() {
    if (!this.frames.length) return;
    if (!this.plotted) {
      this.axis = axisOf(this.frames, this.header.curves.times, this.state.logarithmic);
      this.places = this.frames.map((frame) => this.axis.share(frame.time));
      this.plotHistory();
      this.plotCurves();
      this.plotted = true;
      // Captions have their height by now.
      if (!this.history.hidden && fit(this.history.querySelector("canvas"))) this.plotHistory();
    }
    const { slider, clock } = this;
    slider.max = this.frames.length - 1;
    slider.value = this.state.position;
    const told = `t = ${number(this.time())}`;
    clock.textContent = told;
    clock.title = this.unit();
    slider.setAttribute("aria-valuetext", `${told}, ${clock.title}`);
    const x = this.across(this.curves, this.axis.share(this.time()));
    for (const cursor of this.root.querySelectorAll(".cursor")) {
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
    }
    if (this.scene) {
      const style = getComputedStyle(this.root);
      this.scene.draw(this, style.getPropertyValue("--dot").trim());
    } else if (this.header.shape === "ring" || this.header.shape === "strip") {
      this.drawCircle();
    }
  }

  /** Density between two frames, as bytes. */
  values() {
    const [a, b, share] = this.between();
    return Float32Array.from(a.values, (q, i) => q + share * (b.values[i] - q));
  }

  /** Ring: colours by density, outline its height. Ribbon: density against the angle. */
  drawCircle() {
    const canvas = this.canvas, context = canvas.getContext("2d");
    const { width, height } = canvas;
    const ratio = width / Math.max(canvas.clientWidth, 1);
    const style = getComputedStyle(this.root);
    const paint = (name) => style.getPropertyValue(name).trim();
    const values = this.values(), n = values.length;
    const { at, masses } = this.points();
    const ring = this.state.shape === "ring";
    const strip = this.header.shape === "strip";
    context.clearRect(0, 0, width, height);
    const inner = 0.27 * Math.min(width, height), outer = 0.47 * Math.min(width, height);
    const left = 40 * ratio, right = width - 10 * ratio, low = height - 34 * ratio, high = 10 * ratio;
    const level = (q) => inner + (outer - inner) * (0.12 + 0.88 * q / 255);
    const place = ring
      ? (theta, q) => {
        const r = level(q);
        return [width / 2 + r * Math.cos(theta), height / 2 - r * Math.sin(theta)];
      }
      : (theta, q) => [left + (right - left) * (strip ? theta / Math.PI : (theta + Math.PI) / (2 * Math.PI)),
        low - (low - high) * q / 255];
    const angle = (i) => (strip ? Math.PI * i / n : 2 * Math.PI * i / n - Math.PI);
    const ends = strip ? [values[0], values[n - 1]] : Array(2).fill(0.5 * (values[0] + values[n - 1]));
    // One fill with a gradient along the angle, because separate cells would show seams.
    const colours = ring ? context.createConicGradient(Math.PI, width / 2, height / 2)
      : context.createLinearGradient(left, 0, right, 0);
    for (let i = 0; i < n; i++) {
      const share = (i + 0.5) / n;
      colours.addColorStop(ring ? 1 - share : share, colour(this.palette, Math.round(values[i])));
    }
    context.fillStyle = colours;
    context.beginPath();
    // Through the middles of cells, so that an atom, one cell wide, has its full height.
    context.lineTo(...place(angle(0), ends[0]));
    for (let i = 0; i < n; i++) context.lineTo(...place(angle(i + 0.5), values[i]));
    context.lineTo(...place(angle(n), ends[1]));
    if (ring) {
      context.closePath();
      context.moveTo(width / 2 + inner, height / 2);
      context.arc(width / 2, height / 2, inner, 0, 2 * Math.PI);
    } else {
      context.lineTo(right, low + 1);
      context.lineTo(left, low + 1);
    }
    context.fill("evenodd");
    context.font = `${11 * ratio}px system-ui, sans-serif`;
    context.fillStyle = paint("--muted");
    context.strokeStyle = paint("--line");
    context.lineWidth = ratio;
    const names = strip ? [[0, "0"], [Math.PI / 2, "\u03c0/2"], [Math.PI, "\u03c0"]]
      : [[-Math.PI, "-\u03c0"], [-QUARTER, "-\u03c0/2"], [0, "0"], [QUARTER, "\u03c0/2"], [Math.PI, "\u03c0"]];
    const [lowest, highest] = this.header.values.colours;
    const uniform = 255 * Math.log(1 / lowest) / Math.log(highest / lowest);
    context.textBaseline = "middle";
    if (this.state.grid) {
      context.setLineDash([3 * ratio, 3 * ratio]);
      context.beginPath();
      if (ring) {
        context.arc(width / 2, height / 2, level(uniform), 0, 7);
      } else {
        context.moveTo(...place(angle(0), uniform));
        context.lineTo(right, place(0, uniform)[1]);
      }
      context.stroke();
      context.setLineDash([]);
    }
    context.textAlign = "center";
    if (ring) {
      names.slice(1).forEach(([theta, name]) => context.fillText(
        name, width / 2 + 0.8 * inner * Math.cos(theta), height / 2 - 0.8 * inner * Math.sin(theta)));
    } else {
      names.forEach(([theta, name]) => context.fillText(name, place(theta, 0)[0], low + 24 * ratio));
      context.textAlign = "right";
      [[lowest, 0], [1, uniform], [highest, 255]].forEach(([value, q]) =>
        context.fillText(number(value, 2), left - 6 * ratio, place(0, q)[1]));
    }
    for (let i = 0; i < at.length; i++) {
      const r = ratio * (masses ? 3 + 16 * Math.sqrt(masses[i]) : 2.6);
      const [x, y] = ring
        ? [width / 2 + inner * Math.cos(at[i]), height / 2 - inner * Math.sin(at[i])]
        : [place(at[i], 0)[0], low + (masses ? 0 : 7 * ratio)];
      context.beginPath();
      context.arc(x, y, r, 0, 7);
      context.globalAlpha = masses || at.length < 300 ? 0.85 : 0.35;
      context.fillStyle = masses ? paint("--energy") : paint("--dot");
      context.fill();
      if (masses) { context.strokeStyle = paint("--page"); context.stroke(); }
      context.globalAlpha = 1;
    }
  }

  /** Plot against time: density of the angle, or cosines of pairs. */
  plotHistory() {
    if (this.history.hidden) return;
    const periodic = this.header.shape === "ring";
    const onCircle = periodic || this.header.shape === "strip";
    const canvas = this.history.querySelector("canvas"), context = canvas.getContext("2d");
    const rows = this.frames.map((frame) => (onCircle ? frame.values : frame.shares));
    const size = (rows.find((row) => row) || []).length;
    if (!size) return;
    const gaps = rows.some((row) => !row) ? "; blank: not computed" : "";
    // Before the plot, because the caption takes part of the height.
    this.history.querySelector("figcaption").textContent = onCircle
      ? `density: ${periodic ? "angle" : "polar angle"} against ${this.unit()}`
      : `cosines of pairs against ${this.unit()}, relative to an even spread${gaps}`;
    // A pixel shows the highest of its cells, because atoms are one cell wide.
    const high = onCircle ? Math.min(size, canvas.height) : size;
    const image = context.createImageData(canvas.width, high);
    for (let x = 0; x < canvas.width; x++) {
      const nearest = Math.round(this.positionAt((x + 0.5) / canvas.width)), row = rows[nearest];
      if (!row) continue;
      // Angles are periodic; cosines are not.
      const wide = onCircle && this.frames[nearest].masses ? 1 : 0;
      for (let y = 0; y < high; y++) {
        const from = Math.floor(((y - wide) * size) / high), to = Math.ceil(((y + 1 + wide) * size) / high);
        let q = 0;
        // On the circle the first cell follows the last one.
        for (let k = from; k < to; k++) q = Math.max(q, row[periodic ? (k + size) % size : k] || 0);
        const at = 4 * (x + canvas.width * (high - 1 - y));
        for (let c = 0; c < 3; c++) image.data[at + c] = this.palette[3 * q + c];
        image.data[at + 3] = 255;
      }
    }
    const offscreen = document.createElement("canvas");
    offscreen.width = canvas.width;
    offscreen.height = high;
    offscreen.getContext("2d").putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.drawImage(offscreen, 0, 0, canvas.width, canvas.height);
    const names = { ring: ["-\u03c0", "0", "\u03c0"], strip: ["0", "\u03c0/2", "\u03c0"] }[this.header.shape] || ["-1", "0", "1"];
    this.history.querySelector("svg").innerHTML = this.frameOf(this.history, names, "");
    this.history.querySelector(".plot").setAttribute("title", "click to go to a time");
  }

  /** Energy, order and clusters against time, events as ticks above. */
  plotCurves() {
    const { times, ...series } = this.header.curves;
    const up = (share) => this.up(this.curves, share);
    const colours = ["--energy", "--order", "--count"];
    const caption = this.curves.querySelector("figcaption");
    let content = "";
    const names = Object.keys(series);
    const counts = series.clusters ? Math.max(1, ...series.clusters.filter((v) => v !== null)) : 1;
    const others = names.filter((name) => name !== "clusters");
    const all = others.flatMap((name) => series[name]).filter((v) => v !== null);
    const top = all.length ? Math.max(...all) : 1, bottom = Math.min(0, ...all);
    const highest = top <= 1 && top > 0.3 && bottom === 0 ? 1 : top || 1;
    const paintOf = (name) => (name === "clusters" ? colours[2] : colours[others.indexOf(name) % 3]);
    // Before the curves, because the caption takes part of the height.
    caption.replaceChildren(...names.map((name) => {
      const entry = document.createElement("span"), mark = document.createElement("i");
      mark.style.background = `var(${paintOf(name)})`;
      entry.append(mark, name === "clusters" ? `clusters (at most ${counts}; gap: none separate)` : name);
      return entry;
    }), `against ${this.unit()}${this.header.events.length ? "; ticks above: events" : ""}`);
    names.forEach((name) => {
      const stairs = name === "clusters", paint = paintOf(name);
      const [low, high] = stairs ? [0, counts] : [bottom, highest];
      let path = "", before = null;
      times.forEach((time, i) => {
        const value = series[name][i], share = this.axis.share(time);
        if (value === null || value === undefined || !(share >= 0 && share <= 1)) { before = null; return; }
        const x = this.across(this.curves, share).toFixed(1), y = up((value - low) / (high - low || 1)).toFixed(1);
        path += before === null ? `M${x} ${y}` : stairs ? `H${x}V${y}` : `L${x} ${y}`;
        before = y;
      });
      content += `<path d="${path}" fill="none" stroke="var(${paint})" stroke-width="${stairs ? 1.4 : 2}"${stairs ? ' stroke-dasharray="4 3"' : ""}/>`;
    });
    for (const event of this.header.events) {
      const share = this.axis.share(event.time);
      if (!(share >= 0 && share <= 1)) continue;
      const x = this.across(this.curves, share);
      content += `<g><title>t = ${number(event.time)}: ${escaped(event.text)}</title><path d="M${x} 0v10" stroke="var(--ink)" stroke-width="2"/><rect x="${x - 4}" y="-4" width="8" height="18" fill="transparent"/></g>`;
    }
    const middle = (bottom + highest) / 2;
    this.curves.querySelector("svg").innerHTML = this.frameOf(this.curves, [bottom, middle, highest].map((v) => number(v, 2)), content);
  }

  /** Place, from the left, of a share of the axis of time in a plot. */
  across(figure, share) {
    return LEFT + share * (figure.querySelector(".plot").clientWidth - LEFT - RIGHT);
  }

  /** Place, from above, of a share of the height of a plot. */
  up(figure, share) {
    return TOP + (figure.querySelector(".plot").clientHeight - TOP - BELOW) * (1 - share);
  }

  /** Axes around a plot, its content, and the cursor. */
  frameOf(figure, names, content) {
    const width = Math.max(this.across(figure, 1) - LEFT, 0), low = this.up(figure, 0);
    const levels = names.map((name, i) => {
      const y = this.up(figure, i / (names.length - 1));
      return `<text x="${LEFT - 5}" y="${y + 4}" text-anchor="end">${escaped(name)}</text>`;
    });
    const ticks = this.axis.ticks.map((time) => {
      const x = this.across(figure, this.axis.share(time));
      return `<path d="M${x} ${low}v4" stroke="var(--line)"/><text x="${x}" y="${low + 16}" text-anchor="middle">${number(time, 3)}</text>`;
    });
    return `<g><rect x="${LEFT}" y="${TOP}" width="${width}" height="${Math.max(low - TOP, 0)}" fill="none" stroke="var(--line)"/></g>
      ${levels.join("")}${ticks.join("")}${content}
      <line class="cursor" y1="${TOP}" y2="${low}" stroke="var(--ink)" stroke-width="3" opacity=".35"/>
      <line class="cursor" y1="${TOP}" y2="${low}" stroke="var(--page)" stroke-width="1"/>`;
  }

  /** Place between frames at a share of the axis of time. */
  positionAt(share) {
    const next = this.places.findIndex((each) => each >= share);
    if (next < 0) return this.places.length - 1;
    if (next === 0) return 0;
    const [before, after] = this.places.slice(next - 1, next + 1);
    return next - 1 + (share - before) / (after - before || 1);
  }
}

/** Give a canvas the pixels that it needs; true if the size changed. */
function fit(canvas) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const pixels = (length) => Math.max(1, Math.round(length * ratio));
  const [width, height] = [pixels(canvas.clientWidth), pixels(canvas.clientHeight)];
  if (canvas.width === width && canvas.height === height) return false;
  Object.assign(canvas, { width, height });
  return true;
}

/** Shares of the axis of time, and ticks. */
function axisOf(frames, times, logarithmic) {
  const all = frames.map((frame) => frame.time);
  const last = Math.max(...all, 1e-300);
  const first = Math.min(...all);
  if (logarithmic) {
    const least = first > 0 ? first : Math.min(...all.concat(times).filter((t) => t > 0));
    const high = Math.log10(last);
    // With a single time after 0, it is at the right.
    const low = least < last ? Math.log10(least) : high - 1, span = high - low;
    const every = Math.max(1, Math.ceil(span / 6));
    const ticks = [];
    for (let k = Math.ceil(low); k <= high + 1e-9; k += every) ticks.push(10 ** k);
    // Within a decade or two: 2 and 5 as well.
    if (ticks.length < 3) {
      ticks.length = 0;
      for (let k = Math.floor(low); k <= high; k++) {
        ticks.push(...[1, 2, 5].map((each) => each * 10 ** k).filter((time) => {
          const place = Math.log10(time);
          return place >= low - 1e-9 && place <= high + 1e-9;
        }));
      }
    }
    return { ticks, share: (time) => (time > 0 ? Math.max(0, (Math.log10(time) - low) / span) : 0) };
  }
  const span = Math.max(last - first, 1e-12 * last);
  const rough = span / 6, unit = 10 ** Math.floor(Math.log10(rough));
  const every = unit * [1, 2, 5, 10].find((k) => k * unit >= rough);
  const ticks = [];
  for (let k = Math.ceil(first / every); k * every <= last + 1e-9 * span; k++) ticks.push(k * every);
  return { ticks, share: (time) => (time - first) / span };
}

/** A number in few digits. */
function number(value, digits = 4) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(Math.max(digits - 2, 0)).replace(/\.?0+e/, "e").replace("e+", "e");
  return String(Number(value.toPrecision(digits)));
}

function escaped(text) {
  return String(text).replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

function colour(palette, q) {
  return `rgb(${palette[3 * q]}, ${palette[3 * q + 1]}, ${palette[3 * q + 2]})`;
}

/** For anywidget: `header`, `data` and `frame` of a model. */
export default {
  async render({ model, el }) {
    const data = model.get("data");
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    const view = createView(el, model.get("header"), await unpacked(bytes));
    if (model.get("frame") !== view.state.position) view.seek(model.get("frame"));
    view.onSeek((position) => {
      if (model.get("frame") === position) return;
      model.set("frame", position);
      model.save_changes();
    });
    model.on("change:frame", () => {
      if (model.get("frame") !== view.state.position) view.seek(model.get("frame"));
    });
    return () => view.destroy();
  },
};
