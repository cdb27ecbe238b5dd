// The interactive page, in anywidget's form: the same file is the page in a tab, a notebook widget and a recorded run.
// All numbers come from Python; this file draws them, and sends events: model.send(event), model.on("msg:custom", f).

const SVG = "http://www.w3.org/2000/svg";
const COLOURS = { plus: "#0072b2", minus: "#d55e00", zero: "#9aa3ad", free: "#009e73", inside: "#a3457c", ink: "#17212b" };
// In the picture itself, so that an exported picture looks the same.
const PLANE_STYLE = `
text { font: 12px system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif; fill: #52606d; }
.grid { stroke: #eaeef2; stroke-width: 1; } .axis { stroke: #c3ccd5; stroke-width: 1.2; }
.band { fill: #009e73; fill-opacity: .09; } .edge { stroke: #009e73; stroke-width: 1.5; stroke-dasharray: 6 4; }
.line { stroke: #17212b; stroke-width: 2.6; } .before { stroke: #7b8794; stroke-width: 1.6; stroke-dasharray: 2 5; }
.label { paint-order: stroke; stroke: #fff; stroke-width: 4; } .side { fill-opacity: .055; } .plus { fill: #0072b2; } .minus { fill: #d55e00; }
.point { stroke: #fff; stroke-width: 1.2; cursor: grab; } .point.used { stroke: #17212b; stroke-width: 2.2; }
.point.faint { fill-opacity: .55; }
.wrong { stroke: #fff; stroke-width: 2.2; pointer-events: none; } .halo { fill: none; stroke: #e0a800; stroke-width: 4; }
.hot { stroke: #e0a800 !important; stroke-width: 4 !important; }
.hull { fill-opacity: .1; stroke-width: 1.3; } .hull.plus { stroke: #0072b2; } .hull.minus { stroke: #d55e00; }
.segment { stroke: #a3457c; stroke-width: 2.4; } .near { fill: #a3457c; stroke: #fff; stroke-width: 1.5; }
.meet { fill: #a3457c; stroke: #fff; stroke-width: 1.5; } .inset { fill: #fff; fill-opacity: .86; stroke: #d9dfe5; } .through { pointer-events: none; }
.mine { stroke: #a3457c; stroke-width: 3; } .handle { fill: #fff; stroke: #a3457c; stroke-width: 3; cursor: grab; }
.cross { stroke: #e0a800; stroke-width: 2; fill: none; } .contour { fill: none; stroke-width: 2.4; stroke: #17212b; }
.contour.edge { stroke: #009e73; stroke-width: 1.5; stroke-dasharray: 6 4; }`;

const number = (value) => (value === null || value === undefined ? NaN : Number(value));
function fmt(value, digits = 4) {
  const x = number(value);
  if (Number.isNaN(x)) return "–";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  if (x === 0) return "0";
  const size = Math.abs(x);
  const text = size >= 1e6 || size < 1e-4 ? x.toExponential(Math.max(1, digits - 2)) : String(Number(x.toPrecision(digits + 1)));
  return text.replace("-", "−").replace("e−", "e−").replace("e+", "e");
}
const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
// Formulas as people write them.
const pretty = (text) =>
  [
    [/\|\|/g, "‖"], [/<=/g, "≤"], [/>=/g, "≥"], [/(gamma|γ)_opt/g, "γₒₚₜ"], [/gamma/g, "γ"], [/alpha/g, "α"], [/\beta\b/g, "η"],
    [/\bxi_/g, "ξ_"], [/\bmu_/g, "μ_"], [/\bsum(?=\b|_)/g, "Σ"], [/sqrt\(([^)]*)\)/g, "√($1)"], [/_k-1/g, "ₖ₋₁"], [/_ii/g, "ᵢᵢ"], [/_ij/g, "ᵢⱼ"], [/_jj/g, "ⱼⱼ"],
    [/_i/g, "ᵢ"], [/_j/g, "ⱼ"], [/_k/g, "ₖ"], [/_0|(?<=w)0/g, "₀"], [/ - /g, " − "], [/\bt γ/g, "t\u00a0γ"], [/‖gradient‖/g, "‖∇ℓ‖"],
  ].reduce((result, [from, to]) => result.replace(from, to), text);

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  if (["BUTTON", "SELECT", "INPUT", "TEXTAREA"].includes(element.tagName) || "tabindex" in attributes) keepKeys(element);
  element.append(...children);
  return element;
}
// Jupyter looks at the element with the focus, and would take arrows and letters for commands of its own.
const OWN_KEYS = "data-lm-suppress-shortcuts";
const keepKeys = (element) => element.setAttribute(OWN_KEYS, "true");
function draw(parent, tag, attributes = {}, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}
function ticks(low, high, count) {
  const step = 10 ** Math.floor(Math.log10((high - low) / count));
  const width = [1, 2, 5, 10].map((k) => k * step).find((s) => (high - low) / s <= count) ?? 10 * step;
  const found = [];
  for (let k = Math.ceil(low / width); k * width <= high; k += 1) found.push(Number((k * width).toPrecision(12)));
  return found;
}
function convexHull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  if (sorted.length < 3) return sorted;
  const turn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const half = (list) => {
    const chain = [];
    for (const p of list) {
      while (chain.length > 1 && turn(chain.at(-2), chain.at(-1), p) <= 0) chain.pop();
      chain.push(p);
    }
    return chain.slice(0, -1);
  };
  return [...half(sorted), ...half(sorted.reverse())];
}
function download(name, content, type = "text/plain") {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// A model that plays recorded messages, for a page without Python.
function replayed(messages) {
  let listener = () => {};
  return {
    recorded: true,
    on: (name, f) => { listener = f; },
    off: () => {},
    send: (event) => { if (event.type === "open") messages.forEach((message) => setTimeout(() => listener(message))); },
  };
}

function render({ model, el }) {
  let catalog = null, state = null, frames = [], ended = false, problem = "", cursor = 0, asked = -1, toEnd = false;
  let playing = false, lastTick = 0, debt = 0, hot = -1, tool = "draw", label = 1, picked = [], view = null, drag = null;
  let mine = null, measured = null, cross = null, answerShown = false, sayLater = 0, addressLater = 0, waiting = false;
  let kernelGrid = null, barFocus = 0, fresh = !model.opening?.code && model.opening?.lesson === undefined;
  const answers = {};
  const send = (event) => model.send({ step: cursor, ...event });
  const frame = () => frames[Math.min(cursor, frames.length - 1)];

  // The document.
  const choose = (name, title) => make("select", { "aria-label": title, "data-name": name });
  const lessonMenu = choose("lesson", "lesson"), dataMenu = choose("data", "data"), algorithmMenu = choose("algorithm", "algorithm");
  const button = (text, title, action, attributes = {}) => make("button", { type: "button", title, "aria-label": title, onclick: action, ...attributes }, text);
  const errorBox = make("div", { class: "mm-error", role: "alert", hidden: true });
  const lessonBox = make("section", { class: "mm-lesson", "aria-label": "lesson", hidden: true });
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("tabindex", "0");
  keepKeys(svg);
  svg.setAttribute("role", "application");
  svg.setAttribute("aria-label", "The plane. Arrow keys move the cross, Enter adds a point, Shift+Enter one of the other class, Delete erases the nearest point, M takes or drops it, F gives it the other class, P picks it, T drags the hyperplane.");
  const say = make("p", { class: "mm-say" });
  const live = make("div", { class: "mm-hidden", "aria-live": "polite", role: "status" });
  const play = button("▶ play", "play or pause (space)", () => setPlaying(!playing), { class: "mm-play mm-primary" });
  const first = button("|◀", "to the start (Home)", () => go(0)), back = button("◀", "one step back (←)", () => go(cursor - 1));
  const next = button("▶", "one step (→)", () => go(cursor + 1)), last = button("▶|", "to the end (End)", () => { setPlaying(false); toEnd = true; go(frames.length - 1); }, { "data-name": "end" });
  next.dataset.name = "step"; back.dataset.name = "back"; first.dataset.name = "start"; play.dataset.name = "play";
  const speed = make("input", { type: "range", min: 0, max: 6, step: 0.1, value: 2, "aria-label": "speed, steps a second", title: "speed" });
  const speedText = make("output");
  const position = make("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "step", oninput: (event) => go(Number(event.target.value)) });
  const positionText = make("output");
  const controls = make("div", { class: "mm-controls", role: "group", "aria-label": "parameters" });
  const tableControls = make("div", { class: "mm-controls", role: "group", "aria-label": "columns", hidden: true });
  const tools = {
    draw: button("add, move", "click adds a point, with shift one of the other class; drag moves one", () => setTool("draw")),
    erase: button("erase", "click erases a point", () => setTool("erase")),
    pick: button("pick", "click the point, or the pair, of the next step", () => setTool("pick")),
    plane: button("drag w", "drag the hyperplane: can you beat the margin? (T)", () => setTool("plane")),
  };
  const startHere = button("start here", "start the run from this hyperplane", () => { send({ type: "start", ...mineAs() }); setTool("draw"); }, { "data-name": "start-here", hidden: true });
  const classButton = button("● +1", "class of new points (shift: the other one)", () => { label = -label; showTools(); });
  const undo = button("↶ undo", "undo the last change of the points (Ctrl+Z)", () => send({ type: "undo" }));
  const clear = button("clear", "remove all points", () => send({ type: "clear" }));
  const proof = make("div", { class: "mm-scroll" }), proofTitle = make("small");
  const listing = make("pre", { tabindex: 0, "aria-label": "the loop in Python" }), listingTitle = make("small"), listingNote = make("p", { class: "mm-note" });
  const bars = document.createElementNS(SVG, "svg"), box = document.createElementNS(SVG, "svg");
  bars.setAttribute("tabindex", "0");
  keepKeys(bars);
  bars.setAttribute("role", "application");
  bars.setAttribute("aria-label", "Dual variables. Left and right choose a point; for SMO and coordinate ascent up and down change its dual.");
  box.setAttribute("class", "mm-box");
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", "The box of the pair of duals, its line, the unclipped and the clipped optimum");
  const dualsTitle = make("small"), legend = make("div", { class: "mm-legend" });
  const charts = make("div", { class: "mm-charts" }), chartsNote = make("small");
  const trace = make("div", { class: "mm-scroll", tabindex: 0, "aria-label": "trace" });
  const text = make("textarea", { "aria-label": "rows as CSV or svmlight text", spellcheck: "false", placeholder: "x1,x2,label\n0.5,1.2,1\n-0.3,0.1,-1" });
  const file = make("input", { type: "file", accept: ".csv,.svm,.txt,.svmlight,.libsvm,.tsv", "aria-label": "file with rows", onchange: () => readFile(file.files[0]) });
  const dialog = make("dialog", { "aria-label": "load rows" },
    make("h2", {}, "Load rows"),
    make("p", {}, "CSV (two or more numbers and a label) or svmlight text: paste it here, choose a file, or drop one anywhere on the page."),
    text, file,
    make("div", { class: "mm-tools" }, button("cancel", "close without loading", () => dialog.close()), button("load", "load these rows", () => { send({ type: "paste", text: text.value }); dialog.close(); }, { "data-name": "load" })));
  const exports = make("select", { "aria-label": "export", "data-name": "export", onchange: (event) => { exported(event.target.value); event.target.value = ""; } },
    ...[["", "export…"], ["python", "Python that reproduces it"], ["csv", "trace as CSV"], ["svg", "picture as SVG"], ["png", "picture as PNG"], ["html", "replay as HTML"], ...(model.address ? [["link", "copy the address"]] : [])]
      .map(([value, title]) => make("option", { value }, title)));
  const card = (name, title, ...children) => make("section", { class: `mm-card mm-${name}`, "aria-label": name }, ...(title ? [title] : []), ...children);
  const heading = (title, ...more) => make("h2", {}, title, ...more);
  const recordedText = make("p", { class: "mm-recorded-text" });
  const root = make("div", { class: model.recorded ? "mm-lab mm-recorded" : "mm-lab" },
    make("header", { class: "mm-top" }, make("h1", {}, "maxmargin ", make("span", {}, "lab")), recordedText,
      make("label", {}, "lesson", lessonMenu), make("label", {}, "data", dataMenu), make("label", {}, "algorithm", algorithmMenu),
      make("div", { class: "mm-files" }, button("load rows…", "paste or open CSV or svmlight text", () => dialog.showModal(), { "data-name": "paste" }), exports)),
    errorBox, lessonBox,
    make("main", { class: "mm-grid" },
      make("div", { class: "mm-left" },
        card("plane", null,
          make("div", { class: "mm-tools", role: "group", "aria-label": "tools" }, ...Object.values(tools), startHere, classButton, make("span", { class: "mm-gap" }), undo, clear),
          svg, say,
          make("div", { class: "mm-transport", role: "group", "aria-label": "steps" }, first, back, play, next, last, make("label", { class: "mm-speed" }, "speed", speed, speedText)),
          make("div", { class: "mm-position" }, position, positionText), controls, tableControls),
        card("trace", heading("Trace", make("small", {}, "click a step to go there")), trace)),
      make("div", { class: "mm-right" },
        card("proof", heading("Proof", proofTitle), proof),
        make("div", { class: "mm-side" }, card("duals", heading("Duals", dualsTitle), make("div", { class: "mm-bars" }, bars, box), legend), card("curves", heading("Curves", chartsNote), charts)),
        card("code", heading("Code", listingTitle), listing, listingNote))),
    live, dialog);
  el.replaceChildren(root);
  say.textContent = "Starting: after an installation this takes a few seconds.";

  // Messages.
  function receive(message) {
    if (message.type === "catalog") takeCatalog(message);
    else if (message.type === "state") takeState(message);
    else if (message.type === "frames") takeFrames(message);
    else if (message.type === "measured") { measured = message; if (message.what === "alpha") drawBars(); drawProof(); speak(measuredText()); }
    else if (message.type === "file") download(message.name, message.text);
    else if (message.type === "error") { complain(message.message, message.lasting); if (state) drawControls(); }
  }
  function complain(text, lasting) {
    errorBox.textContent = text;
    errorBox.hidden = false;
    waiting = false;
    if (!lasting) setTimeout(() => { errorBox.hidden = true; }, 8000);
  }
  function takeCatalog(message) {
    catalog = message;
    const fill = (menu, entries) => menu.replaceChildren(...entries.map(([value, title]) => make("option", { value }, title)));
    fill(lessonMenu, [["", "none"], ...message.lessons.map((lesson, k) => [k, `${k + 1}. ${lesson.title}`])]);
    fill(dataMenu, [["", "your own points"], ...Object.entries(message.presets)]);
    fill(algorithmMenu, Object.entries(message.algorithms).map(([name, found]) => [name, found.title]));
    dataMenu.options[0].disabled = true;
  }
  function takeState(message) {
    const samePlace = state && drag?.kind === "point";
    const sameRun = state && state.algorithm === message.algorithm;
    const atEnd = sameRun && ended && cursor === frames.length - 1 && cursor > 0;
    const samePoints = state && JSON.stringify(state.points) === JSON.stringify(message.points);
    if (!sameRun || state.data !== message.data) { mine = null; }
    if (message.lesson === null || message.lesson !== state?.lesson) answerShown = false;
    state = message;
    frames = []; ended = false; problem = ""; asked = -1; waiting = false; measured = null; picked = []; kernelGrid = null;
    cursor = message.step;
    toEnd = atEnd && message.step > 0;
    if (!samePlace && !(samePoints && view)) view = null;
    if (message.lesson !== null && catalog.lessons[message.lesson].tool === "hyperplane" && !mine) setTool("plane");
    else if (state.waits) setTool("pick");
    else if (tool === "pick" && !state.picks) setTool("draw");
    if (message.lesson !== null && catalog.lessons[message.lesson].tool !== "hyperplane" && tool === "plane") setTool("draw");
    lessonMenu.value = message.lesson ?? "";
    dataMenu.value = message.data;
    algorithmMenu.value = message.algorithm;
    if (model.recorded) recordedText.textContent = `A recorded run: ${catalog.algorithms[state.algorithm].title}, ${catalog.presets[state.data] ?? "own points"}. With the command "maxmargin lab" everything in it can be changed.`;
    if (!sameRun || !listing.children.length) drawListing();
    drawControls(); drawLesson(); showTools();
    if (message.notice) speak(message.notice, true);
  }
  function takeFrames(message) {
    if (message.from !== frames.length) return;
    frames.push(...message.frames);
    ended = message.ended; problem = message.problem; waiting = false;
    if (toEnd && !ended) { cursor = frames.length - 1; ask(frames.length + 150); }
    else if (toEnd) { cursor = frames.length - 1; toEnd = false; }
    else if (cursor >= frames.length && !ended) ask(cursor);
    else if (cursor >= frames.length) cursor = frames.length - 1;
    show();
    if (tool === "plane" && !mine && message.from === 0) setTool("plane");
  }
  function ask(to) {
    if (waiting || ended) return;
    waiting = true;
    model.send({ type: "more", to, step: Math.min(cursor, 1e9) });
  }
  function go(to) {
    if (!frames.length) return;
    errorBox.hidden = errorBox.hidden || true;
    cursor = Math.max(0, ended ? Math.min(to, frames.length - 1) : to);
    if (measured && measured.what === "alpha") measured = null;
    if (cursor + 20 >= frames.length) ask(cursor + 40);
    show();
  }
  function setPlaying(on) {
    toEnd = false;
    if (on && ended && cursor >= frames.length - 1) go(0);
    playing = on;
    play.textContent = on ? "‖ pause" : "▶ play";
    play.setAttribute("aria-pressed", String(on));
    if (on) { lastTick = performance.now(); debt = 0; requestAnimationFrame(tick); } else if (frames.length) show();
  }
  const rate = () => 2 ** Number(speed.value);
  function tick(now) {
    if (!playing || !root.isConnected) return;
    debt += ((now - lastTick) / 1000) * rate();
    lastTick = now;
    if (debt >= 1 && frames.length) {
      const to = Math.min(cursor + Math.floor(debt), frames.length - 1);
      debt = Math.min(debt - Math.floor(debt), 1);
      if (to > cursor) go(to); else ask(cursor + 40);
      if (ended && cursor >= frames.length - 1) { setPlaying(false); return; }
    }
    requestAnimationFrame(tick);
  }
  function speak(words, alsoShow) {
    clearTimeout(sayLater);
    if (alsoShow) say.textContent = words;
    sayLater = setTimeout(() => { live.textContent = words; }, playing ? 1200 : 150);
  }

  // Everything that depends on the step.
  function show() {
    const f = frame();
    if (!f || !state) return;
    position.max = frames.length - 1;
    position.value = Math.min(cursor, frames.length - 1);
    const more = ended ? `of ${frames.length - 1}` : "…";
    positionText.textContent = `step ${Math.min(cursor, frames.length - 1)} ${more}`;
    const done = ended && cursor >= frames.length - 1;
    const words = done && problem ? `${f.text} ${problem[0].toUpperCase()}${problem.slice(1)}` : state.waits && done && (!cursor || f.rows.length || f.reason === "correct") ? `${cursor ? `${f.text} ` : "Start. "}Click the next ${state.picks === 2 ? "two points" : "point"}.` : f.text;
    if (fresh && cursor > 0) { fresh = false; drawLesson(); }
    say.textContent = words;
    speak(words);
    next.disabled = last.disabled = done;
    back.disabled = first.disabled = cursor === 0;
    drawPlane(); drawProof(); drawLine(); drawBars(); drawCharts(); drawTrace();
    if (model.address) {
      clearTimeout(addressLater);
      addressLater = setTimeout(() => frames.length && model.address(state.code, Math.min(cursor, frames.length - 1)), playing ? 600 : 120);
    }
    // A run of clicked points is over where no point is left to click, not where it waits for the next one.
    const over = done && cursor > 0 && (!state.waits || (!f.rows.length && f.reason !== "correct"));
    if (over && state.lesson !== null && !answerShown) { answerShown = true; drawLesson(); }
  }

  // The plane.
  let W = 560, H = 440;
  const widths = { bars: 320, charts: 320 };
  const layers = {};
  function fitView() {
    const xs = state.points.map((p) => p[0]), ys = state.points.map((p) => p[1]);
    let [x0, x1, y0, y1] = state.points.length ? [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)] : [-3, 3, -2.4, 2.4];
    const span = Math.max(x1 - x0, y1 - y0, 1e-9 * Math.max(Math.abs(x0), Math.abs(x1), Math.abs(y0), Math.abs(y1)), 1e-12) || 1;
    const padding = state.points.length ? 0.14 * span || 1 : 0;
    x0 -= padding; x1 += padding; y0 -= padding; y1 += padding;
    if (state.points.length === 1) { x0 -= 2; x1 += 2; y0 -= 2; y1 += 2; }
    const scale = Math.min(W / (x1 - x0), H / (y1 - y0));
    view = { scale, cx: (x0 + x1) / 2, cy: (y0 + y1) / 2 };
  }
  const px = (x) => W / 2 + (x - view.cx) * view.scale, py = (y) => H / 2 - (y - view.cy) * view.scale;
  const fromPixel = (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return [view.cx + (at.x - W / 2) / view.scale, view.cy - (at.y - H / 2) / view.scale];
  };
  const rounded = (value) => Number(value.toFixed(Math.max(0, Math.min(12, Math.ceil(Math.log10(view.scale)) + 1))));
  function preparePlane() {
    if (!view) fitView();
    svg.setAttribute("viewBox", `0 0 ${W} ${H}`);
    svg.setAttribute("height", H);
    svg.replaceChildren();
    draw(svg, "style", {}, PLANE_STYLE);
    for (const name of ["region", "grid", "hulls", "planes", "points", "marks", "mine", "inset"]) layers[name] = draw(svg, "g", ["marks", "inset"].includes(name) ? { class: "through" } : {});
    const left = view.cx - W / 2 / view.scale, right = view.cx + W / 2 / view.scale, low = view.cy - H / 2 / view.scale, high = view.cy + H / 2 / view.scale;
    for (const x of ticks(left, right, 8)) {
      draw(layers.grid, "line", { x1: px(x), x2: px(x), y1: 0, y2: H, class: x === 0 ? "axis" : "grid" });
      if (px(x) > 14 && px(x) < W - 14) draw(layers.grid, "text", { x: px(x), y: H - 5, "text-anchor": "middle" }, fmt(x));
    }
    for (const y of ticks(low, high, 7)) {
      draw(layers.grid, "line", { x1: 0, x2: W, y1: py(y), y2: py(y), class: y === 0 ? "axis" : "grid" });
      if (py(y) > 14 && py(y) < H - 20) draw(layers.grid, "text", { x: 5, y: py(y) + 4 }, fmt(y));
    }
    layers.dots = state.points.map(([x, y], row) => {
      const positive = state.labels[row] > 0, size = state.points.length > 120 ? 4.2 : 6.5;
      const attributes = positive ? { cx: px(x), cy: py(y), r: size } : { x: px(x) - size * 0.9, y: py(y) - size * 0.9, width: size * 1.8, height: size * 1.8 };
      const dot = draw(layers.points, positive ? "circle" : "rect", { ...attributes, "data-row": row, class: `point ${positive ? "plus" : "minus"}` });
      draw(dot, "title", {}, `point ${row + 1}, class ${positive ? "+1" : "−1"}`);
      return dot;
    });
    const hullOf = (sign) => convexHull(state.points.filter((_, row) => state.labels[row] === sign));
    // The point of both hulls is of use where the algorithm looks for a separating hyperplane.
    const seeks = state.algorithm !== "gradient" && (!state.kernel || (state.kernel.kernel === "linear" && (state.algorithm === "kernel" || number(state.values.C) === Infinity)));
    layers.meeting = seeks ? state.facts?.meeting : null;
    if (state.algorithm === "hulls" || layers.meeting) {
      for (const [sign, name] of [[1, "plus"], [-1, "minus"]]) {
        const hull = hullOf(sign);
        if (hull.length) draw(layers.hulls, "polygon", { points: hull.map(([x, y]) => `${px(x)},${py(y)}`).join(" "), class: `hull ${name}` });
      }
    }
    layers.marked = state;
    layers.corner = undefined;
  }
  // The part of the line w·x + b = level that is inside the picture, in pixels.
  function clipped(w, b, level) {
    const size = Math.hypot(w[0], w[1]);
    if (!(size > 0)) return null;
    const [a, c] = [w[0] / size, w[1] / size], distance = (level - b - w[0] * view.cx - w[1] * view.cy) / size;
    const reach = (W + H) / view.scale;
    if (!(Math.abs(distance) < reach)) return null;
    const [x, y] = [view.cx + a * distance, view.cy + c * distance];
    return { x1: px(x - c * reach), y1: py(y + a * reach), x2: px(x + c * reach), y2: py(y - a * reach) };
  }
  function edgeLevel(f) {
    const algorithm = catalog.algorithms[state.algorithm], w = f.w;
    if (!w) return null;
    if (algorithm.svm) return 1;
    if (state.algorithm === "hulls") return f.hull ? (w[0] ** 2 + w[1] ** 2) / (state.values.intercept ? 2 : 1) : null;
    if (f.guess !== undefined) return state.values.unit_length ? null : (f.guess / 2) * Math.hypot(w[0], w[1], f.b);
    const least = Math.min(...f.margins.map(number));
    return least > 0 && !state.values.unit_length ? least : null;
  }
  function drawPlane() {
    if (!view || layers.marked !== state) preparePlane();
    const f = frame(), used = new Set(f.rows), linear = f.w !== null;
    layers.region.replaceChildren(); layers.planes.replaceChildren(); layers.marks.replaceChildren(); layers.inset.replaceChildren();
    if (linear) {
      const level = edgeLevel(f), w = f.w.map(number), b = number(f.b);
      const edges = level ? [clipped(w, b, level), clipped(w, b, -level)] : [null, null];
      if (edges[0] && edges[1]) {
        const [s, t] = edges;
        draw(layers.planes, "polygon", { points: `${s.x1},${s.y1} ${s.x2},${s.y2} ${t.x2},${t.y2} ${t.x1},${t.y1}`, class: "band" });
      }
      edges.filter(Boolean).forEach((line) => draw(layers.planes, "line", { ...line, class: "edge" }));
      const side = clipped(w, b, 0), far = (W + H) / Math.hypot(...w);
      if (side) for (const [sign, name] of [[1, "plus"], [-1, "minus"]]) {
        const [dx, dy] = [sign * w[0] * far, -sign * w[1] * far];
        draw(layers.region, "polygon", { points: `${side.x1},${side.y1} ${side.x2},${side.y2} ${side.x2 + dx},${side.y2 + dy} ${side.x1 + dx},${side.y1 + dy}`, class: `side ${name}` });
      }
      const before = f.wBefore && f.number ? clipped(f.wBefore.map(number), number(f.bBefore), 0) : null;
      const now = clipped(w, b, 0);
      if (before && f.rows.length) draw(layers.planes, "line", { ...before, class: "before" });
      if (now) draw(layers.planes, "line", { ...now, class: "line", "data-name": "hyperplane" });
      if (f.rows.length && state.algorithm !== "hulls") drawArrows(f, w);
    } else drawRegion(f);
    if (f.hull) {
      const [p, q] = [f.hull.positive, f.hull.negative].map((point) => point.map(number));
      draw(layers.marks, "line", { x1: px(p[0]), y1: py(p[1]), x2: px(q[0]), y2: py(q[1]), class: "segment" });
      for (const point of [p, q]) draw(layers.marks, "circle", { cx: px(point[0]), cy: py(point[1]), r: 6, class: "near" });
    } else if (layers.meeting) {
      const [x, y] = layers.meeting;
      draw(layers.marks, "path", { d: `M${px(x)},${py(y) - 8} l8,8 l-8,8 l-8,-8 z`, class: "meet" });
      draw(layers.marks, "text", { x: Math.min(W - 80, Math.max(8, px(x) - 36)), y: py(y) > 40 ? py(y) - 18 : py(y) + 30, class: "label" }, "in both hulls");
    }
    const bold = state.points.length > 0 && f.number > 0;
    let wrong = "";
    layers.dots.forEach((dot, row) => {
      const taken = number(f.alpha?.[row]) > 0, positive = state.labels[row] > 0;
      const mistake = number(f.margins[row]) <= 0 && f.number > 0;
      const look = `point ${positive ? "plus" : "minus"}${taken ? " used" : bold && !mistake && state.algorithm !== "gradient" ? " faint" : ""}${row === hot || picked.includes(row) ? " hot" : ""}`;
      if (dot.look !== look) { dot.look = look; dot.setAttribute("class", look); }
      const [x, y] = [px(state.points[row][0]), py(state.points[row][1])];
      if (mistake) wrong += `M${x - 3},${y - 3}l6,6m0,-6l-6,6`;
      if (used.has(row) && f.rows.length < state.points.length) draw(layers.marks, "circle", { cx: x, cy: y, r: 12, class: "halo" });
    });
    if (wrong) draw(layers.marks, "path", { d: wrong, class: "wrong" });
    drawMine();
    if (cross && document.activeElement === svg && tool !== "plane") draw(layers.marks, "path", { d: `M${px(cross[0]) - 10},${py(cross[1])} h20 m-10,-10 v20`, class: "cross" });
  }
  // w before, the change, and w after, as arrows from one origin; parallel to what they are in the plane.
  function drawArrows(f, w) {
    const before = f.wBefore ? f.wBefore.map(number) : [0, 0];
    // In the corner with the fewest points, smaller where it would hide one.
    const places = [116, 92, 72].flatMap((size) => [[W - size - 8, 8, size], [26, 8, size], [W - size - 8, H - size - 24, size], [26, H - size - 24, size]]);
    const inside = ([left, top, size]) => state.points.filter(([x, y]) => px(x) > left - 8 && px(x) < left + size + 8 && py(y) > top - 8 && py(y) < top + size + 8).length;
    const [left, top, size] = layers.corner ?? (layers.corner = places.reduce((best, place) => (inside(place) < inside(best) ? place : best)));
    const mid = [left + size / 2, top + size / 2 + 6];
    const longest = Math.max(Math.hypot(...w), Math.hypot(...before), 1e-300), scale = (size / 2 - 16) / longest;
    draw(layers.inset, "rect", { x: left, y: top, width: size, height: size, rx: 6, class: "inset" });
    draw(layers.inset, "text", { x: left + 7, y: top + 16 }, "w");
    for (const [x, words, colour] of [[24, "before", "#7b8794"], [66, "after", COLOURS.ink]]) if (size > 100) draw(layers.inset, "text", { x: left + x, y: top + 16, style: `fill:${colour}` }, words);
    const tip = (v) => [mid[0] + v[0] * scale, mid[1] - v[1] * scale];
    const arrow = (from, to, colour, width) => {
      const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
      if (length < 2) return;
      const [dx, dy] = [(to[0] - from[0]) / length, (to[1] - from[1]) / length], head = Math.min(9, length);
      draw(layers.inset, "line", { x1: from[0], y1: from[1], x2: to[0] - dx * head * 0.7, y2: to[1] - dy * head * 0.7, stroke: colour, "stroke-width": width });
      draw(layers.inset, "polygon", { points: `${to[0]},${to[1]} ${to[0] - dx * head - dy * 4},${to[1] - dy * head + dx * 4} ${to[0] - dx * head + dy * 4},${to[1] - dy * head - dx * 4}`, fill: colour });
    };
    arrow(mid, tip(before), "#7b8794", 2);
    const colour = f.rows.length === 1 ? (state.labels[f.rows[0]] > 0 ? COLOURS.plus : COLOURS.minus) : COLOURS.inside;
    arrow(tip(before), tip(w), colour, 2.2);
    arrow(mid, tip(w), COLOURS.ink, 2.6);
  }
  // Kernels: f on a grid, from the duals; the kernel values of grid and points are computed once.
  function kernelValue(kernel, x, z) {
    if (kernel.kernel === "rbf") return Math.exp(-kernel.gamma * ((x[0] - z[0]) ** 2 + (x[1] - z[1]) ** 2));
    const inner = x[0] * z[0] + x[1] * z[1];
    if (kernel.kernel === "poly") return (kernel.gamma * inner + kernel.coef0) ** kernel.degree;
    return kernel.kernel === "sigmoid" ? Math.tanh(kernel.gamma * inner + kernel.coef0) : inner;
  }
  const COLS = 70, ROWS = 55;
  function drawRegion(f) {
    const n = state.points.length;
    if (!n) return;
    if (!kernelGrid) {
      kernelGrid = new Float64Array(COLS * ROWS * n);
      for (let r = 0; r < ROWS; r += 1) for (let c = 0; c < COLS; c += 1) {
        const at = [view.cx + ((c + 0.5) * W / COLS - W / 2) / view.scale, view.cy - ((r + 0.5) * H / ROWS - H / 2) / view.scale];
        for (let i = 0; i < n; i += 1) kernelGrid[(r * COLS + c) * n + i] = kernelValue(state.kernel, state.points[i], at);
      }
    }
    const weights = [];
    state.labels.forEach((sign, i) => { const a = number(f.alpha[i]); if (a > 0) weights.push([i, a * sign]); });
    const values = new Float64Array(COLS * ROWS);
    const offset = state.kernel.intercept ? number(f.b) : 0;
    for (let k = 0; k < values.length; k += 1) {
      let sum = offset;
      for (const [i, weight] of weights) sum += weight * kernelGrid[k * n + i];
      values[k] = sum;
    }
    const canvas = document.createElement("canvas");
    canvas.width = COLS; canvas.height = ROWS;
    const context = canvas.getContext("2d"), image = context.createImageData(COLS, ROWS);
    const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-300);
    const one = catalog.algorithms[state.algorithm].svm ? 1 : largest / 2;
    for (let k = 0; k < values.length; k += 1) {
      const strength = Math.min(1, Math.abs(values[k]) / one), [r, g, b] = values[k] >= 0 ? [0, 114, 178] : [213, 94, 0];
      image.data.set([r, g, b, 20 + 75 * strength], 4 * k);
    }
    context.putImageData(image, 0, 0);
    draw(layers.region, "image", { href: canvas.toDataURL(), x: 0, y: 0, width: W, height: H, preserveAspectRatio: "none" });
    const levels = catalog.algorithms[state.algorithm].svm ? [[0, "contour"], [1, "contour edge"], [-1, "contour edge"]] : [[0, "contour"]];
    for (const [level, name] of levels) draw(layers.planes, "path", { d: contour(values, level), class: name });
  }
  // Marching squares: the line on which the values are ``level``.
  function contour(values, level) {
    const at = (c, r) => values[r * COLS + c] - level, x = (c) => (c + 0.5) * W / COLS, y = (r) => (r + 0.5) * H / ROWS, parts = [];
    for (let r = 0; r + 1 < ROWS; r += 1) for (let c = 0; c + 1 < COLS; c += 1) {
      const corners = [[c, r], [c + 1, r], [c + 1, r + 1], [c, r + 1]], found = [];
      for (let k = 0; k < 4; k += 1) {
        const [p, q] = [corners[k], corners[(k + 1) % 4]], [u, v] = [at(...p), at(...q)];
        if (u < 0 !== v < 0) { const t = u / (u - v); found.push(`${(x(p[0] + t * (q[0] - p[0]))).toFixed(1)},${(y(p[1] + t * (q[1] - p[1]))).toFixed(1)}`); }
      }
      for (let k = 0; k + 1 < found.length; k += 2) parts.push(`M${found[k]}L${found[k + 1]}`);
    }
    return parts.join("");
  }
  // "Beat the margin": a hyperplane by its middle and its direction.
  function ownPlane() {
    const f = frame(), w = f?.w?.map(number);
    const usable = w && Math.hypot(...w) > 0 && clipped(w, number(f.b), 0);
    const normal = usable ? w : [1, 0.3], size = Math.hypot(...normal), unit = [normal[0] / size, normal[1] / size];
    const b = usable ? number(f.b) / size : -(unit[0] * view.cx + unit[1] * view.cy);
    const distance = unit[0] * view.cx + unit[1] * view.cy + b;
    return { x: view.cx - unit[0] * distance, y: view.cy - unit[1] * distance, angle: Math.atan2(unit[1], unit[0]) };
  }
  function mineAs() {
    const w1 = Math.cos(mine.angle), w2 = Math.sin(mine.angle);
    return { w1, w2, b: bendable() ? -(w1 * mine.x + w2 * mine.y) : 0 };
  }
  const bendable = () => (state.algorithm === "smo" ? true : state.algorithm === "ascent" ? false : state.values.intercept);
  function drawMine() {
    layers.mine.replaceChildren();
    if (tool !== "plane" || !mine) return;
    const { w1, w2, b } = mineAs(), line = clipped([w1, w2], b, 0), reach = Math.min(W, H) * 0.3 / view.scale;
    if (line) draw(layers.mine, "line", { ...line, class: "mine" });
    draw(layers.mine, "circle", { cx: px(mine.x), cy: py(mine.y), r: 9, class: "handle", "data-name": "middle" });
    draw(layers.mine, "circle", { cx: px(mine.x - w2 * reach), cy: py(mine.y + w1 * reach), r: 7, class: "handle", "data-name": "turn" });
  }
  function measureMine() { drawMine(); send({ type: "hyperplane", ...mineAs() }); }
  function nearest(x, y) {
    let best = -1, least = Infinity;
    state.points.forEach((point, row) => { const d = Math.hypot(point[0] - x, point[1] - y); if (d < least) { least = d; best = row; } });
    return best;
  }
  function pick(row) {
    if (!state.picks) return complain("This algorithm takes no clicked points.");
    picked = picked.includes(row) ? picked.filter((other) => other !== row) : [...picked, row];
    if (picked.length === state.picks) { send({ type: "pick", rows: picked }); picked = []; } else { speak(`Point ${row + 1} is picked. Pick the other one.`, true); drawPlane(); }
  }
  function setTool(name) {
    tool = name; picked = [];
    if (name === "plane" && frames.length && view) { mine = mine ?? ownPlane(); measureMine(); }
    if (name !== "plane" && measured?.what === "hyperplane") measured = null;
    showTools();
    if (frames.length && view) { drawPlane(); drawProof(); }
  }
  function showTools() {
    for (const [name, element] of Object.entries(tools)) element.setAttribute("aria-pressed", String(name === tool));
    classButton.textContent = label > 0 ? "● +1" : "■ −1";
    startHere.hidden = tool !== "plane" || model.recorded || !state || !catalog.algorithms[state.algorithm].starts;
    classButton.style.color = label > 0 ? COLOURS.plus : COLOURS.minus;
    tools.pick.disabled = model.recorded || !state?.picks;
    undo.disabled = model.recorded || !state?.canUndo;
    for (const element of [tools.draw, tools.erase, tools.plane, classButton, clear, dataMenu, algorithmMenu, lessonMenu, exports]) element.disabled = Boolean(model.recorded);
  }
  svg.addEventListener("pointerdown", (event) => {
    if (!state || !view || model.recorded || event.button > 0) return;
    const at = fromPixel(event), row = event.target.dataset?.row, name = event.target.dataset?.name;
    svg.focus({ preventScroll: true });
    if (tool === "plane") {
      mine = mine ?? ownPlane();
      drag = { kind: name === "turn" ? "turn" : "plane" };
      if (drag.kind === "plane") { mine.x = at[0]; mine.y = at[1]; measureMine(); }
    } else if (row !== undefined && tool === "draw") drag = { kind: "point", row: Number(row), from: at, moved: false };
    else if (row !== undefined && tool === "erase") send({ type: "erase", row: Number(row) });
    else if (tool === "pick") { const found = row !== undefined ? Number(row) : nearest(...at); if (found >= 0) pick(found); }
    else if (tool === "draw") send({ type: "add", x: rounded(at[0]), y: rounded(at[1]), label: event.shiftKey ? -label : label });
    if (drag) svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!state || !view) return;
    if (!drag) { setHot(event.target.dataset?.row === undefined ? -1 : Number(event.target.dataset.row)); return; }
    const at = fromPixel(event), now = performance.now();
    if (drag.kind === "plane") { mine.x = at[0]; mine.y = at[1]; }
    if (drag.kind === "turn") mine.angle = Math.atan2(at[1] - mine.y, at[0] - mine.x) - Math.PI / 2;
    if (drag.kind !== "point") { drawMine(); if (now - (drag.sent ?? 0) > 40) { drag.sent = now; measureMine(); } return; }
    if (!drag.moved && Math.hypot(at[0] - drag.from[0], at[1] - drag.from[1]) * view.scale < 4) return;
    if (now - (drag.sent ?? 0) > 40) { send({ type: "move", row: drag.row, x: rounded(at[0]), y: rounded(at[1]), dragging: drag.moved }); drag.sent = now; drag.moved = true; }
  });
  svg.addEventListener("pointerup", (event) => {
    if (!drag) return;
    const at = fromPixel(event), done = drag;
    drag = null;
    if (done.kind !== "point") measureMine();
    else if (done.moved) send({ type: "move", row: done.row, x: rounded(at[0]), y: rounded(at[1]), dragging: true });
  });
  svg.addEventListener("pointerleave", () => setHot(-1));
  svg.addEventListener("contextmenu", (event) => {
    const row = event.target.dataset?.row;
    if (row !== undefined && !model.recorded) { event.preventDefault(); send({ type: "erase", row: Number(row) }); }
  });
  svg.addEventListener("dblclick", (event) => {
    const row = event.target.dataset?.row;
    if (row !== undefined && !model.recorded && tool === "draw") send({ type: "flip", row: Number(row) });
  });
  svg.addEventListener("focus", () => { if (view && !cross) cross = [view.cx, view.cy]; if (frames.length) drawPlane(); });
  svg.addEventListener("blur", () => { if (frames.length) drawPlane(); });
  svg.addEventListener("keydown", (event) => {
    if (!state || !view || model.recorded || event.ctrlKey || event.metaKey) return;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }, way = arrows[event.key];
    const step = (event.altKey ? 2 : 12) / view.scale;
    cross = cross ?? [view.cx, view.cy];
    if (way && tool === "plane") {
      mine = mine ?? ownPlane();
      mine.angle -= way[0] * 0.03;
      mine.x += Math.cos(mine.angle) * way[1] * step * 0.4; mine.y += Math.sin(mine.angle) * way[1] * step * 0.4;
      measureMine();
    } else if (way) {
      cross = [cross[0] + way[0] * step, cross[1] + way[1] * step];
      if (layers.taken !== undefined) send({ type: "move", row: layers.taken, x: rounded(cross[0]), y: rounded(cross[1]), dragging: true });
      else { const row = nearest(...cross); speak(`${fmt(cross[0])}, ${fmt(cross[1])}${row >= 0 ? `; nearest point ${row + 1}` : ""}`); drawPlane(); }
    } else if (event.key === "Enter") {
      const row = nearest(...cross);
      if (tool === "pick" && row >= 0) pick(row);
      else if (tool === "erase" && row >= 0) send({ type: "erase", row });
      else if (tool !== "plane") send({ type: "add", x: rounded(cross[0]), y: rounded(cross[1]), label: event.shiftKey ? -label : label });
    } else if (event.key === "Delete" || event.key === "Backspace") { const row = nearest(...cross); if (row >= 0) send({ type: "erase", row }); }
    else if (event.key === "m" || event.key === "M") {
      const row = nearest(...cross);
      layers.taken = layers.taken === undefined && row >= 0 ? row : undefined;
      if (layers.taken !== undefined) cross = [...state.points[row]];
      speak(layers.taken === undefined ? "Dropped." : `Point ${row + 1} taken: the arrow keys move it.`, true);
    } else if (event.key === "f" || event.key === "F") { const row = nearest(...cross); if (row >= 0) send({ type: "flip", row }); }
    else if (event.key === "p" || event.key === "P") { const row = nearest(...cross); if (row >= 0) pick(row); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  // The proof.
  const KKT = { "KKT (2)": "balance", "KKT (3)": "complementary slackness", "KKT (4)": "primal feasibility", "KKT (5)": "dual feasibility" };
  function claimRow([name, formula, left, relation, right, tolerance, holds], optimum) {
    const [l, r] = [number(left), number(right)], sign = { "<=": "≤", ">=": "≥" }[relation] ?? relation;
    const [small, large] = relation === ">=" || relation === ">" ? [r, l] : [l, r];
    const share = relation !== "=" && large > 0 && small >= 0 && Number.isFinite(large) ? Math.min(1, small / large) : null;
    const meter = share === null || optimum ? "" : `<span class="mm-meter" title="${fmt(100 * share, 2)} % of the bound"><i style="width:${(100 * share).toFixed(1)}%"></i></span>`;
    // What holds only up to the tolerance says so.
    const exact = { "<=": l <= r, "<": l < r, ">=": l >= r, ">": l > r, "=": l === r }[relation];
    const within = holds && !exact && fmt(l) !== fmt(r) ? `<br><small title="the tolerance">± ${fmt(tolerance, 1)}</small>` : "";
    const shown = holds || Number.isNaN(l) || Number.isNaN(r) ? sign : l < r ? "<" : l > r ? ">" : "=";
    const verdict = holds ? "good" : optimum ? "open" : "bad";
    const mark = holds ? "✓" : optimum ? "○" : "✗";
    const words = holds ? "holds" : optimum ? "does not hold yet" : "does not hold";
    return `<tr class="${verdict}"><td title="${words}"><span aria-hidden="true">${mark}</span><span class="mm-hidden">${words}</span></td><td><span class="mm-name">${escaped(KKT[name] ? `${KKT[name]}, ${name}` : name)}</span><span class="mm-formula">${escaped(pretty(formula))}</span>${meter}</td><td>${fmt(l)} ${shown} ${fmt(r)}${within}</td></tr>`;
  }
  function measuredText() {
    const v = measured.values;
    if (measured.what === "alpha") return `With your α: dual ${fmt(v.dual)}, smallest primal ${fmt(v.primal)}.`;
    const share = number(v.upper) > 0 ? ` (${fmt((100 * number(v.margin)) / number(v.upper), 3)} % of the upper bound)` : "";
    return number(v.margin) > 0 ? `Your hyperplane has margin ${fmt(v.margin)}${share}. The largest is ${bracket(v)}.` : `Your hyperplane makes ${fmt(v.mistakes)} mistakes: its margin is ${fmt(v.margin)}.${number(v.upper) > 0 ? ` The largest is ${bracket(v)}.` : " No hyperplane makes none."}`;
  }
  // As many digits as it takes to tell the ends apart; ends that agree to eight are one number.
  function bracket({ lower, upper }, open = "", close = "") {
    for (let digits = 4; digits < 8; digits += 1) if (fmt(lower, digits) !== fmt(upper, digits)) return `between ${open}${fmt(lower, digits)}${close} and ${open}${fmt(upper, digits)}${close}`;
    return `${open}${fmt(lower, 7)}${close}, known to ${fmt(Math.max(number(upper) - number(lower), 0), 2)}`;
  }
  function factText() {
    const known = state.facts;
    if (!known) return state.points.length ? ["", "There is one class only."] : ["", "There are no points."];
    if (known.separable) return ["", `<b>Separable.</b> The largest margin γₒₚₜ is ${bracket(known, "<b>", "</b>")}: a hyperplane and two hull points prove it.`];
    if (known.separable === false) {
      if (state.kernel && state.kernel.kernel !== "linear") return ["", "No line separates these points; a hyperplane in the feature space may."];
      if (!known.meeting) return ["no", "<b>Not separable</b> by a hyperplane through the origin, as weights of the points y·x with the sum 0 prove."];
      const where = known.meeting ? ` at (${known.meeting.map((v) => fmt(v)).join(", ")})` : "";
      const count = known.hull_weights.filter((weight) => weight > 0).length;
      return ["no", `<b>Not separable.</b> The convex hulls of the classes meet${where}, as the weights of ${count} points prove: no hyperplane has that point on both sides.`];
    }
    return ["no", `Undecided at this precision: no margin is above ${fmt(known.upper)}.`];
  }
  function drawProof() {
    const f = frame();
    if (!f) return;
    proofTitle.textContent = pretty(catalog.algorithms[state.algorithm].theory);
    const [kind, words] = factText();
    let html = `<p class="mm-fact ${kind}">${words}</p>`;
    if (state.bound) {
      const { R, gamma, space, separates } = state.bound;
      html += `<p class="mm-fact">For ${escaped(space)}: R = <b>${fmt(R)}</b>, ${separates ? `u has margin γ = <b>${fmt(gamma)}</b>, so that (R/γ)² = <b>${fmt((R / gamma) ** 2)}</b>` : `γ = <b>${fmt(gamma)}</b>, which no u has: T is what points lack of it`}.</p>`;
    }
    if (measured) html += `<p class="mm-fact try">${escaped(measuredText())}</p><table><tbody>${measured.claims.map((claim) => claimRow(claim)).join("")}</tbody></table>`;
    if (f.claims.length) html += `<h3>true of every step</h3><table><tbody>${f.claims.map((claim) => claimRow(claim)).join("")}</tbody></table>`;
    if (f.conditions.length) html += `<h3>true at the optimum${f.conditions.some(([name]) => KKT[name]) ? " (in numbers: the largest violation)" : ""}</h3><table><tbody>${f.conditions.map((claim) => claimRow(claim, true)).join("")}</tbody></table>`;
    if (!f.claims.length && !f.conditions.length) html += `${catalog.algorithms[state.algorithm].proof.map((words) => `<p class="mm-theorem">${escaped(pretty(words)).replace(/^(Theorem|Proof)[^.]*\./, "<b>$&</b>")}</p>`).join("")}<h3>The first step brings the first numbers.</h3>`;
    proof.innerHTML = html;
  }

  // The listing: Python as it stands in the package.
  const WORDS = /(#.*$|"[^"]*"|\b(?:def|while|for|in|if|elif|else|and|or|not|is|None|return|yield|break|lambda|with|True|False)\b)/;
  function drawListing() {
    const algorithm = catalog.algorithms[state.algorithm];
    listingTitle.textContent = algorithm.source;
    listingNote.textContent = pretty(algorithm.note);
    listing.replaceChildren(...algorithm.listing.map((line) => {
      const indent = line.length - line.trimStart().length;
      const parts = line.trimStart().split(WORDS).map((part, k) => (k % 2 ? make("i", { class: part[0] === "#" ? "comment" : part[0] === '"' ? "string" : "word" }, part) : part));
      return make("span", { style: `padding-left:calc(${indent + 3}ch + 6px)` }, ...parts);
    }));
  }
  function drawLine() {
    const lit = listing.querySelector("[aria-current]"), now = listing.children[frame().line];
    if (lit === now) return;
    lit?.removeAttribute("aria-current");
    now?.setAttribute("aria-current", "step");
  }

  // The duals.
  const barColour = (digit, row) => {
    if (!catalog.algorithms[state.algorithm].svm) return state.labels[row] > 0 ? COLOURS.plus : COLOURS.minus;
    return [COLOURS.zero, COLOURS.free, COLOURS.inside][Number(digit) % 3];
  };
  function drawBars() {
    const f = frame(), n = state.points.length, width = widths.bars, height = 126, base = height - 24, top = 12;
    const alpha = (measured?.alpha ?? f.alpha ?? []).map(number), svm = catalog.algorithms[state.algorithm].svm, C = number(state.values.C);
    const most = svm && Number.isFinite(C) ? C : Math.max(...alpha, state.algorithm === "hulls" ? 1 : 0) || 1;
    dualsTitle.textContent = `${pretty(catalog.algorithms[state.algorithm].duals)}${measured?.alpha ? " (yours)" : ""}${hot >= 0 && hot < n ? `; point ${hot + 1}: ${fmt(alpha[hot], 3)}, y f = ${fmt(f.margins[hot], 3)}` : ""}`;
    layers.most = most;
    const left = 46, wide = (width - left - 4) / Math.max(1, n), parts = [`<line x1="${left}" x2="${width}" y1="${base}" y2="${base}" stroke="#c3ccd5"/><line x1="${left}" x2="${width}" y1="${top}" y2="${top}" stroke="#c3ccd5" stroke-dasharray="3 3"/>`,
      `<text x="${left - 5}" y="${top + 4}" text-anchor="end" font-size="11.5" fill="#52606d">${svm && Number.isFinite(C) ? `C=${fmt(C, 3)}` : fmt(most, 2)}</text><text x="${left - 5}" y="${base + 4}" text-anchor="end" font-size="11.5" fill="#52606d">0</text>`, ...[...new Set(n ? [1, n] : [])].map((k) => `<text x="${k === 1 ? left : left + n * wide}" y="${base + 20}" text-anchor="${k === 1 ? "start" : "end"}" font-size="11" fill="#52606d">${k}</text>`)];
    const rows = new Set(f.rows.length < n ? f.rows : []), shapes = {}, gap = wide > 4 ? 1.5 : 0.2;
    for (let row = 0; row < n; row += 1) {
      const tall = Math.max(alpha[row] > 0 ? 2 : 0, (Math.min(alpha[row], most) / most) * (base - top)), violated = svm && Number(f.classes[row]) > 2 && !measured?.alpha;
      const x = left + row * wide, colour = barColour(f.classes[row], row);
      if (row === hot || rows.has(row)) parts.push(`<rect x="${x}" y="${top}" width="${wide}" height="${base - top + 6}" fill="${row === hot ? "#dbe9f4" : "#fff3c4"}"/>`);
      if (tall) shapes[colour] = `${shapes[colour] ?? ""}M${(x + gap / 2).toFixed(1)},${base}v${(-tall).toFixed(1)}h${Math.max(0.8, wide - gap).toFixed(2)}V${base}z`;
      if (violated) shapes[COLOURS.ink] = `${shapes[COLOURS.ink] ?? ""}M${x + wide / 2},${base + 3}l${Math.min(4, wide / 2)},6h-${Math.min(8, wide)}z`;
    }
    for (const [colour, shape] of Object.entries(shapes)) parts.push(`<path d="${shape}" fill="${colour}"/>`);
    if (document.activeElement === bars && n) parts.push(`<rect x="${left + barFocus * wide}" y="${top - 6}" width="${wide}" height="${height - top + 4}" fill="none" stroke="#e0a800" stroke-width="2"/>`);
    // Below the bars are areas to point at, which stay as long as the points do.
    if (layers.barsOf !== state || layers.barsWide !== width) {
      layers.barsOf = state; layers.barsWide = width;
      bars.setAttribute("viewBox", `0 0 ${width} ${height}`);
      bars.setAttribute("height", height);
      bars.replaceChildren();
      layers.barShapes = draw(bars, "g");
      for (let row = 0; row < n; row += 1) draw(bars, "rect", { x: left + row * wide, y: top - 6, width: wide, height: height - top + 6, fill: "transparent", "data-row": row });
    }
    layers.barShapes.innerHTML = parts.join("");
    drawBox(f, C);
    const entries = svm ? [[COLOURS.zero, "α = 0: outside"], [COLOURS.free, `${Number.isFinite(C) ? "0 < α < C" : "α > 0"}: on the margin`], ...(Number.isFinite(C) ? [[COLOURS.inside, "α = C: inside"]] : []), [COLOURS.ink, "▲ violates KKT"]] : [[COLOURS.plus, "class +1"], [COLOURS.minus, "class −1"]];
    const html = entries.map(([colour, title]) => `<span><i style="background:${colour}"></i>${title}</span>`).join("") + (svm && !model.recorded ? "<span>drag a bar: weak duality</span>" : "");
    if (legend.dataset.shown !== html) { legend.innerHTML = html; legend.dataset.shown = html; }
  }
  function drawBox(f, C) {
    box.style.display = state.algorithm === "smo" ? "" : "none";
    if (state.algorithm !== "smo") return;
    const size = 150, height = 116, left = 38, base = 96, wide = 84;
    box.setAttribute("viewBox", `0 0 ${size} ${height}`);
    if (!f.pair) { box.innerHTML = `<text x="10" y="60" font-size="11.5" fill="#52606d">the pair's box and line</text>`; return; }
    const values = [f.pair.before, ...f.pair.segment, f.pair.clipped, f.pair.unclipped].flat().map(number).filter(Number.isFinite);
    const most = Number.isFinite(C) ? C : 1.15 * Math.max(...values, 1e-300), clip = (v) => Math.max(-0.1, Math.min(1.08, v));
    const at = ([a, b]) => [left + wide * clip(number(a) / most), base - wide * clip(number(b) / most)];
    const reach = ([a, b], [c, d]) => [Math.min(number(c), 10 * most), Math.min(number(d), 10 * most)].map((v, k) => (Number.isFinite(v) ? v : [a, b][k]));
    const [s, t] = [f.pair.segment[0], f.pair.segment[1]].map((end) => at(reach(f.pair.before, end))), [p, q] = [at(f.pair.before), at(f.pair.clipped)];
    const finite = f.pair.unclipped.map(number).every(Number.isFinite), u = finite ? at(f.pair.unclipped) : null;
    const [i, j] = f.rows.map((row) => row + 1);
    box.innerHTML = `<rect x="${left}" y="${base - wide}" width="${wide}" height="${wide}" fill="#f4f7fa" stroke="#8d99a6"/>` +
      `<line x1="${s[0]}" y1="${s[1]}" x2="${t[0]}" y2="${t[1]}" stroke="#17212b" stroke-width="2.2"/>` +
      (u ? `<path d="M${u[0] - 4},${u[1] - 4} l8,8 m0,-8 l-8,8" stroke="${COLOURS.minus}" stroke-width="2"><title>unclipped optimum</title></path>` : "") +
      `<circle cx="${p[0]}" cy="${p[1]}" r="4.5" fill="#fff" stroke="#17212b" stroke-width="1.8"><title>before</title></circle><circle cx="${q[0]}" cy="${q[1]}" r="4.5" fill="${COLOURS.free}" stroke="#fff"><title>clipped optimum</title></circle>` +
      `<text x="${left + wide / 2}" y="${base + 14}" text-anchor="middle" font-size="11.5" fill="#52606d">α${i}</text><text x="${left - 4}" y="${base - wide / 2}" text-anchor="end" font-size="11.5" fill="#52606d">α${j}</text>`;
  }
  function setHot(row) {
    if (row === hot) return;
    hot = row;
    if (frames.length) { drawPlane(); drawBars(); drawTrace(); }
  }
  const dragAlpha = (event, row) => {
    const area = bars.getBoundingClientRect(), inner = (event.clientY - area.top) / area.height * 126;
    send({ type: "alpha", row, value: Math.max(0, ((102 - inner) / 90) * layers.most) });
  };
  bars.addEventListener("pointerdown", (event) => {
    const row = event.target.dataset?.row;
    if (row === undefined || model.recorded || !catalog.algorithms[state.algorithm].svm) return;
    drag = { kind: "alpha", row: Number(row) };
    bars.setPointerCapture(event.pointerId);
    setPlaying(false);
    dragAlpha(event, Number(row));
  });
  bars.addEventListener("pointermove", (event) => {
    if (drag?.kind === "alpha") { const now = performance.now(); if (now - (drag.sent ?? 0) > 40) { drag.sent = now; dragAlpha(event, drag.row); } }
    else setHot(event.target.dataset?.row === undefined ? -1 : Number(event.target.dataset.row));
  });
  bars.addEventListener("pointerup", () => { if (drag?.kind === "alpha") drag = null; });
  bars.addEventListener("pointerleave", () => setHot(-1));
  bars.addEventListener("focus", () => frames.length && drawBars());
  bars.addEventListener("blur", () => { setHot(-1); if (frames.length) drawBars(); });
  bars.addEventListener("keydown", (event) => {
    const n = state?.points.length ?? 0, side = { ArrowLeft: -1, ArrowRight: 1 }[event.key], way = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!n || (!side && !way)) return;
    event.preventDefault();
    event.stopPropagation();
    if (side) { barFocus = (barFocus + side + n) % n; setHot(barFocus); speak(`Point ${barFocus + 1}: ${fmt(frame().alpha[barFocus])}, y f = ${fmt(frame().margins[barFocus], 3)}.`); }
    else if (catalog.algorithms[state.algorithm].svm && !model.recorded) {
      const now = number((measured?.alpha ?? frame().alpha)[barFocus]);
      send({ type: "alpha", row: barFocus, value: Math.max(0, now + way * 0.05 * layers.most) });
    }
  });

  // The curves.
  const CHART_LEFT = 52, SERIES = ["#0072b2", "#d55e00", "#009e73", "#a3457c"], DASHES = ["", "6 3", "2 3", "8 2 2 2"];
  function drawCharts() {
    const specs = catalog.algorithms[state.algorithm].charts, until = Math.min(cursor, frames.length - 1);
    const width = widths.charts, height = 74, left = CHART_LEFT, right = width - 8, top = 6, base = height - 6;
    chartsNote.textContent = until > 1 ? `steps 1 to ${until}; click to go back` : until ? "step 1" : "they begin with the first step";
    while (charts.children.length < specs.length) {
      const chart = document.createElementNS(SVG, "svg");
      chart.setAttribute("role", "img");
      charts.append(make("figure", {}, make("figcaption"), chart));
    }
    while (charts.children.length > specs.length) charts.lastChild.remove();
    const every = Math.max(1, Math.ceil(until / 240));
    specs.forEach(([title, keys], which) => {
      const series = keys.map((key) => {
        const found = [];
        for (let k = 1; k <= until; k += k + every > until && k < until ? until - k : every) { const v = number(frames[k]?.values[key]); if (Number.isFinite(v)) found.push([k, v]); }
        return found;
      });
      const all = series.flat().map((p) => p[1]), counts = keys.includes("bound");
      let [low, high] = all.length ? [Math.min(...all), Math.max(...all)] : [0, 1];
      const logarithmic = counts || (all.length > 0 && low > 0 && (["gap", "gradient"].includes(keys[0]) || high > 1000 * low));
      const scaled = (v) => (!logarithmic ? v : counts ? Math.log1p(v) : Math.log(v));
      if (!logarithmic && low > 0 && low < 0.6 * high) low = 0;
      if (scaled(high) - scaled(low) < 1e-12 * Math.max(1, Math.abs(high))) { if (logarithmic && !counts) { low /= 2; high *= 2; } else { high += Math.max(0.5, 0.1 * Math.abs(high)); low = Math.min(low, 0); } }
      const x = (k) => left + ((k - 1) / Math.max(1, until - 1)) * (right - left), y = (v) => base - ((scaled(v) - scaled(low)) / (scaled(high) - scaled(low))) * (base - top);
      const marks = all.length ? [low, high].map((v) => `<text x="${left - 5}" y="${y(v) + (v === low ? 0 : 8)}" text-anchor="end" font-size="11" fill="#52606d">${fmt(v, Math.abs(v) < 0.01 ? 1 : Math.abs(v) < 1 ? 2 : 3)}</text>`).join("") : "";
      const lines = series.map((found, k) => (found.length > 1 ? `<polyline fill="none" stroke="${SERIES[k]}" stroke-width="2" stroke-dasharray="${DASHES[k]}" points="${found.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" ")}"/>` : "") + (found.length ? `<circle cx="${x(found.at(-1)[0])}" cy="${y(found.at(-1)[1])}" r="3" fill="${SERIES[k]}"/>` : "")).join("");
      const [caption, chart] = charts.children[which].children, alone = keys.length === 1;
      caption.innerHTML = `<b>${escaped(pretty(title))}</b> ${keys.map((key, k) => { const now = series[k].at(-1); return now ? `<span style="color:${SERIES[k]}">${alone ? "" : `${escaped(key)} `}${fmt(now[1])}</span>` : ""; }).join(" ")}${logarithmic && all.length ? " <small>log scale</small>" : ""}`;
      chart.setAttribute("viewBox", `0 0 ${width} ${height}`);
      chart.setAttribute("height", height);
      chart.setAttribute("aria-label", `${title}: ${keys.map((key, k) => `${key} ${series[k].length ? fmt(series[k].at(-1)[1]) : "not known yet"}`).join(", ")}`);
      chart.innerHTML = `<line x1="${left}" x2="${right}" y1="${base}" y2="${base}" stroke="#c3ccd5"/><line x1="${left}" x2="${left}" y1="${top}" y2="${base}" stroke="#c3ccd5"/>${marks}${lines}`;
    });
  }

  charts.addEventListener("click", (event) => {
    const chart = event.target.closest("svg");
    if (!chart || cursor < 2) return;
    const area = chart.getBoundingClientRect(), x = ((event.clientX - area.left) / area.width) * widths.charts;
    setPlaying(false);
    go(Math.max(1, Math.min(cursor, Math.round(1 + ((x - CHART_LEFT) / (widths.charts - CHART_LEFT - 8)) * (cursor - 1)))));
  });

  // The trace.
  function drawTrace() {
    const keys = [...new Set(catalog.algorithms[state.algorithm].charts.flatMap(([, names]) => names))].filter((key) => !["updates", "bound", "length bound", "half guess"].includes(key)).slice(0, 4);
    const shown = playing ? 9 : 41, from = Math.max(0, Math.min(cursor - (shown >> 1), frames.length - shown)), to = Math.min(frames.length, from + shown), parts = [];
    for (let k = from; k < to; k += 1) {
      const f = frames[k], points = f.rows.length > 3 ? `${f.rows.length} points` : f.rows.map((row) => row + 1).join(", ");
      const w = f.w ? `(${f.w.map((v) => fmt(v, 2)).join(", ")})` : "–";
      parts.push(`<tr data-step="${k}" class="${k > cursor ? "later" : ""}${hot >= 0 && f.rows.includes(hot) && f.rows.length < 4 ? " hot" : ""}"${k === cursor ? ' aria-current="step"' : ""}><td><button type="button" ${OWN_KEYS}="true" aria-label="go to step ${k}">${k}</button></td><td>${escaped(f.reason)}</td><td>${points}</td><td>${w}</td><td>${fmt(f.b, 2)}</td>${keys.map((key) => `<td>${fmt(f.values[key], 3)}</td>`).join("")}</tr>`);
    }
    trace.innerHTML = `<table><thead><tr><th>#</th><th>why</th><th>points</th><th>w</th><th>b</th>${keys.map((key) => `<th>${escaped(key)}</th>`).join("")}</tr></thead><tbody>${parts.join("")}</tbody></table>`;
    // While it plays, all rows are visible; asking for their places would cost a layout a frame.
    const row = playing ? null : trace.querySelector("[aria-current]");
    if (row) trace.scrollTop = Math.max(0, row.offsetTop - trace.clientHeight / 2);
  }
  // Pointing at a step shows its point; the table itself stays as it is under the pointer.
  const point = (row) => { if (row !== hot) { hot = row; if (frames.length) { drawPlane(); drawBars(); } } };
  trace.addEventListener("pointerover", (event) => {
    const row = event.target.closest("tr[data-step]"), rows = row ? frames[Number(row.dataset.step)]?.rows : [];
    point(rows?.length === 1 || rows?.length === 2 ? rows[0] : -1);
  });
  trace.addEventListener("pointerleave", () => point(-1));
  trace.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-step]");
    if (row) { setPlaying(false); go(Number(row.dataset.step)); }
  });

  // Parameters, lessons, files.
  function drawControls() {
    const active = document.activeElement?.dataset?.parameter;
    controls.replaceChildren(...state.controls.map((name) => {
      const p = catalog.parameters[name], value = state.values[name], set = (v) => send({ type: "set", name, value: v });
      const common = { "data-parameter": name, title: p.hint || p.title, disabled: Boolean(model.recorded) };
      if (p.kind === "choice") {
        const menu = make("select", { ...common, onchange: (event) => set(event.target.value) }, ...p.choices.map((choice) => make("option", { value: choice }, choice)));
        menu.value = value;
        return make("label", {}, p.title, menu);
      }
      if (p.kind === "switch") {
        const check = make("input", { type: "checkbox", ...common, onchange: (event) => set(event.target.checked) });
        check.checked = value;
        return make("label", {}, check, p.title);
      }
      if (p.kind === "count") return make("label", {}, p.title, make("input", { type: "number", min: p.low, max: p.high, step: 1, value, ...common, onchange: (event) => set(Math.round(Number(event.target.value))) }));
      const [low, high] = p.log ? [Math.log10(p.low), Math.log10(p.high)] : [p.low, p.high], top = p.may_be_infinite ? high + 0.25 : high, step = (high - low) / 56;
      const x = number(value), plain = (v) => (v === Infinity ? "inf" : String(Number(v.toPrecision(4))));
      const typed = (title, v, toValue) => {
        const field = make("input", { type: "text", inputmode: "decimal", size: 5, class: "mm-number", ...common, "data-parameter": `${name}:${title}`, "aria-label": title, value: plain(v),
          onchange: () => {
            const found = /^(∞|inf|infinity)$/i.test(field.value.trim()) ? Infinity : field.value.trim() === "" ? NaN : Number(field.value.replace(",", ".").replace("−", "-"));
            if (Number.isNaN(found)) { complain(`${title} must be a number, got ${field.value.slice(0, 20) || "nothing"}.`); field.value = plain(v); return; }
            const changed = toValue(found);
            set(changed === Infinity ? "Infinity" : changed);
          } });
        return field;
      };
      const fields = name === "C" ? [typed("C", x, (v) => v), make("span", {}, "λ"), typed("λ = 1/(2C)", 1 / (2 * x), (v) => (v === 0 ? Infinity : 1 / (2 * v)))] : [typed(p.title, x, (v) => v)];
      if (!p.slider) return make("label", {}, p.title, ...fields);
      const valueOf = (slider) => { const v = Number(slider); return v > high + 1e-9 ? Infinity : Number((p.log ? 10 ** v : v).toPrecision(3)); };
      const slider = make("input", { type: "range", min: low, max: top, step: p.log ? Math.min(step, 0.125) : step, value: Number.isFinite(x) ? (p.log ? Math.log10(x) : x) : top, ...common, "aria-label": p.title,
        oninput: (event) => {
          const v = valueOf(event.target.value), kept = Number.isFinite(v) ? Math.min(p.high, Math.max(p.low, v)) : v;
          fields.filter((field) => field.matches("input")).forEach((field, k) => { field.value = plain(k ? 1 / (2 * kept) : kept); });
          event.target.setAttribute("aria-valuetext", plain(kept));
          clearTimeout(layers.setLater);
          layers.setLater = setTimeout(() => set(kept === Infinity ? "Infinity" : kept), 60);
        } });
      slider.setAttribute("aria-valuetext", plain(x));
      return make("div", { class: "mm-label" }, make("span", {}, p.title), slider, ...fields);
    }));
    if (active) controls.querySelector(`[data-parameter="${active}"]`)?.focus();
    tableControls.hidden = !state.table;
    if (!state.table) return;
    const { columns, classes, shown, positive } = state.table, components = shown === "principal components";
    const menu = (title, entries, value, change) => { const found = make("select", { onchange: (event) => change(event.target.value), disabled: Boolean(model.recorded) }, ...entries.map(([v, t]) => make("option", { value: v }, t))); found.value = value; return make("label", {}, title, found); };
    const chosen = { columns: shown, positive }, change = (changes) => send({ type: "columns", ...chosen, ...changes });
    const named = columns.map((name, k) => [k, name]), pair = components ? [0, Math.min(1, columns.length - 1)] : shown;
    tableControls.replaceChildren(
      menu("show", [["columns", "two columns"], ["components", "principal components"]], components ? "components" : "columns", (v) => change({ columns: v === "components" ? "principal components" : pair })),
      ...(components ? [] : [menu("across", named, pair[0], (v) => change({ columns: [Number(v), pair[1]] })), menu("up", named, pair[1], (v) => change({ columns: [pair[0], Number(v)] }))]),
      menu("class +1", classes.map((name, k) => [k, name]), positive, (v) => change({ positive: Number(v) })));
  }
  function drawLesson() {
    const which = state.lesson, welcome = which === null && fresh && !model.recorded && state.data === "separable" && state.algorithm === "online";
    lessonBox.hidden = which === null && !welcome;
    if (welcome) {
      lessonBox.replaceChildren(make("b", {}, "Watch a theorem at work"),
        make("p", {}, "Press play: the perceptron looks for a line between the two classes, and at every step the inequalities of its proof are checked in numbers. Click into the plane to add points; drag them, and look again."),
        button("▶ play", "play the run", () => setPlaying(true), { class: "mm-primary" }),
        button("lesson 1", "start with the first of twelve lessons", () => model.send({ type: "lesson", number: 0 })));
    }
    if (which === null) return;
    const lesson = catalog.lessons[which], chosen = answers[which];
    const mark = (k) => (answerShown && k === lesson.right ? " ✓" : answerShown && k === chosen ? " ✗" : "");
    const choices = lesson.choices.map((choice, k) => button(`${pretty(choice)}${mark(k)}`, `answer: ${choice}`, () => { answers[which] = k; drawLesson(); play.focus({ preventScroll: true }); }, { "aria-pressed": String(k === chosen), disabled: answerShown }));
    const steer = [which > 0 && button("‹", "the lesson before", () => model.send({ type: "lesson", number: which - 1 })), which + 1 < catalog.lessons.length && button("›", "the next lesson", () => model.send({ type: "lesson", number: which + 1 }))].filter((part) => part && !model.recorded);
    lessonBox.replaceChildren(make("b", {}, `${which + 1}. ${lesson.title}`), make("p", {}, pretty(lesson.idea)),
      make("div", { class: "mm-question" }, make("p", {}, make("strong", {}, "Before you play: "), pretty(lesson.question)), make("div", { class: "mm-tools", role: "group", "aria-label": "answers" }, ...choices,
        ...(answerShown ? [] : [button("show the answer", "show the answer", () => { answerShown = true; drawLesson(); }, { class: "mm-quiet" })]))),
      ...(answerShown ? [make("p", { class: "mm-answer" }, `${chosen === undefined ? "" : chosen === lesson.right ? "Right. " : "Not so. "}${pretty(lesson.answer)}`)] : []),
      make("div", { class: "mm-tools" }, ...steer));
  }
  lessonMenu.addEventListener("change", () => { setPlaying(false); model.send({ type: "lesson", number: lessonMenu.value === "" ? null : Number(lessonMenu.value) }); });
  dataMenu.addEventListener("change", () => { setPlaying(false); model.send({ type: "preset", name: dataMenu.value }); });
  algorithmMenu.addEventListener("change", () => { setPlaying(false); model.send({ type: "algorithm", name: algorithmMenu.value }); });
  speed.addEventListener("input", () => { speedText.textContent = `${fmt(rate(), 2)}/s`; });
  speedText.textContent = `${fmt(rate(), 2)}/s`;
  async function exported(what) {
    if (["python", "csv", "html"].includes(what)) return send({ type: "export", what });
    if (what === "link") { model.address?.(state.code, cursor); try { await navigator.clipboard.writeText(location.href); speak("The address is copied.", true); } catch { speak("Copy the address from the browser's bar.", true); } return undefined; }
    const copy = svg.cloneNode(true);
    copy.setAttribute("xmlns", SVG);
    copy.setAttribute("width", W);
    const source = new XMLSerializer().serializeToString(copy);
    if (what === "svg") return download("maxmargin.svg", source, "image/svg+xml");
    if (what !== "png") return undefined;
    const image = new Image();
    image.onload = () => {
      const canvas = make("canvas", { width: 2 * W, height: 2 * H }), context = canvas.getContext("2d");
      context.fillStyle = "#fff";
      context.fillRect(0, 0, 2 * W, 2 * H);
      context.drawImage(image, 0, 0, 2 * W, 2 * H);
      canvas.toBlob((blob) => download("maxmargin.png", blob));
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`;
    return undefined;
  }
  async function readFile(found) {
    if (!found) return;
    if (found.size > 500_000) return complain("The file has more than 500 kB: use maxmargin lab FILE.");
    text.value = await found.text();
    send({ type: "paste", text: text.value });
    dialog.close();
  }
  const dropped = (event) => { event.preventDefault(); root.classList.toggle("mm-drop", event.type === "dragover"); if (event.type === "drop" && !model.recorded) readFile(event.dataTransfer.files[0]); };
  for (const type of ["dragover", "dragleave", "drop"]) root.addEventListener(type, dropped);
  // The page's own events, or, where nothing has the focus, those of the body (a notebook's body is not the widget's).
  const concerns = (event) => root.contains(event.target) || (event.target === document.body && Boolean(model.address || model.recorded));
  const paste = (event) => {
    const pasted = event.clipboardData?.getData("text");
    if (concerns(event) && !dialog.open && !model.recorded && !event.target.matches?.("input, textarea") && pasted && /[\n]/.test(pasted.trim())) send({ type: "paste", text: pasted });
  };
  document.addEventListener("paste", paste);
  // Keys of the whole page (in a notebook: of the widget); a control that has the focus keeps its own.
  const keys = (event) => {
    if (dialog.open || event.altKey || !concerns(event)) return;
    const own = event.target.matches?.("input, select, textarea, button, [role=application]");
    if ((event.ctrlKey || event.metaKey) && event.key === "z" && !event.target.matches?.("input, textarea")) { event.preventDefault(); if (!model.recorded) send({ type: "undo" }); return; }
    if (event.ctrlKey || event.metaKey) return;
    if ((event.key === "t" || event.key === "T") && !event.target.matches?.("input, select, textarea")) { if (!model.recorded) setTool(tool === "plane" ? "draw" : "plane"); return; }
    const action = { ArrowRight: () => go(cursor + 1), ArrowLeft: () => go(cursor - 1), Home: () => go(0), End: () => last.click() }[event.key];
    const typing = event.target.matches?.("input, select, textarea, [role=application]");
    if (action && !typing) { event.preventDefault(); setPlaying(false); action(); }
    else if (event.key === " " && !own) { event.preventDefault(); setPlaying(!playing); }
  };
  document.addEventListener("keydown", keys);
  const observer = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) if (target !== svg) widths[target === bars ? "bars" : "charts"] = Math.max(200, Math.round(contentRect.width));
    if (frames.length && entries.some(({ target }) => target !== svg)) { drawBars(); drawCharts(); }
    const width = Math.round(svg.clientWidth);
    if (!width || width === W) return;
    W = width;
    H = Math.round(Math.max(280, Math.min(470, W * 0.76)));
    view = null; kernelGrid = null;
    if (frames.length) show();
  });
  for (const target of [svg, bars, charts]) observer.observe(target);
  model.on("msg:custom", receive);
  model.send({ type: "open", ...(model.opening ?? {}) });
  return () => {
    playing = false;
    document.removeEventListener("keydown", keys);
    document.removeEventListener("paste", paste);
    observer.disconnect();
    model.off?.("msg:custom", receive);
  };
}

const lab = { render };
export default lab;
