"use strict";
(() => {
  // Text gets into the page by textContent and attributes only: a name can be anything.
  const D = JSON.parse(document.getElementById("data").textContent);
  const N = D.numbers.length,
    P = D.features.length;
  const SVG = "http://www.w3.org/2000/svg";
  const PAGE = 15,
    SWARMS = 12,
    STEPS = 12,
    SHADES = 9,
    NO_INTERVAL = 65535;
  const $ = (id) => document.getElementById(id);
  const one = N === 1 && !$("swarm");

  // ---- elements -----------------------------------------------------------------------------
  function el(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "on")
        for (const [event, act] of Object.entries(value)) made.addEventListener(event, act);
      else if (value !== null && value !== undefined && value !== false)
        made.setAttribute(name, value);
    }
    made.append(...children.filter((each) => each !== null && each !== undefined));
    return made;
  }
  function svg(tag, attributes, ...children) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }
  const tone = (value) => (value < 0 ? "down" : value > 0 ? "up" : null);
  const bdi = (text) => el("bdi", {}, text);

  // ---- numbers ------------------------------------------------------------------------------
  function unpack(text, kind) {
    const raw = atob(text),
      bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return new kind(bytes.buffer);
  }
  const KINDS = { 8: Uint8Array, 32: Uint32Array };
  const FLOATS = { 32: Float32Array, 64: Float64Array };
  const columns = D.columns.map((column) => {
    const numbers = column.kind !== "categories";
    const kind = (numbers ? FLOATS : KINDS)[column.bits];
    return { ...column, numbers, cells: unpack(column.cells, kind) };
  });
  const tables = D.outputs.map(() => null);
  function table(output) {
    if (tables[output]) return tables[output];
    const values = new Float64Array(N * P),
      halves = new Float64Array(N * P);
    const small = D.values[output],
      parts = unpack(small.parts, Int16Array),
      scale = unpack(small.scale, Float64Array);
    for (let r = 0, i = 0; r < N; r++)
      for (let p = 0; p < P; p++, i++) values[i] = parts[i] * scale[r];
    const packed = D.halves[output];
    if (packed) {
      const steps = unpack(packed.parts, Uint16Array),
        size = unpack(packed.scale, Float64Array);
      for (let r = 0, i = 0; r < N; r++)
        for (let p = 0; p < P; p++, i++)
          halves[i] = steps[i] === NO_INTERVAL ? NaN : steps[i] * size[r];
    }
    const base = unpack(D.base[output], Float64Array),
      predictions = unpack(D.predictions[output], Float64Array);
    const widest = new Float64Array(N);
    for (let r = 0; r < N; r++) {
      let most = 0;
      for (let p = 0; p < P; p++) if (!(halves[r * P + p] <= most)) most = halves[r * P + p];
      widest[r] = most;
    }
    return (tables[output] = { values, halves, base, predictions, widest, exact: !packed });
  }
  // Made once for each number of decimals: making one takes longer than a hundred uses.
  const formats = [];
  const written = (x, decimals) =>
    (formats[decimals] ||= new Intl.NumberFormat("en-US", {
      minimumFractionDigits: decimals,
      maximumFractionDigits: decimals,
    })).format(x);
  const whole = (x) => written(x, 0);
  const SUPERSCRIPTS = {
    "-": "⁻",
    0: "⁰",
    1: "¹",
    2: "²",
    3: "³",
    4: "⁴",
    5: "⁵",
    6: "⁶",
    7: "⁷",
    8: "⁸",
    9: "⁹",
  };
  // Numbers that stand together have the same decimals, and the same power of ten if they need one.
  function digitsOf(numbers, significant = 3) {
    let largest = 0;
    for (const each of numbers)
      if (Number.isFinite(each)) largest = Math.max(largest, Math.abs(each));
    const power = largest ? Math.floor(Math.log10(largest)) : 0;
    const exponent = power < -4 || power > 7 ? power : 0;
    const decimals = largest ? Math.min(20, Math.max(0, significant - 1 - power + exponent)) : 0;
    const unit = 10 ** exponent;
    const raised = [...String(exponent)].map((each) => SUPERSCRIPTS[each]).join("");
    const suffix = exponent ? " × 10" + raised : "";
    const plain = (size) => written(size / unit, decimals);
    const unsigned = (x) => (x < 0 ? "−" : "") + plain(Math.abs(x));
    const signed = (x) => (x === 0 ? "0" : (x > 0 ? "+" : "−") + plain(Math.abs(x)));
    const doubt = (half) => {
      if (!(half > 0)) return "";
      const text = plain(half);
      if (Number(text.replaceAll(",", ""))) return "±\u00a0" + text;
      const few = half / unit,
        zeros = few >= 1e-7 ? few.toFixed(-Math.floor(Math.log10(few))) : few.toExponential(0);
      return "±\u00a0" + zeros.replace("-", "−");
    };
    return { signed, unsigned, doubt, suffix, decimals };
  }
  function numberText(x) {
    if (Number.isNaN(x)) return "missing";
    if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
    const size = Math.abs(x);
    let text;
    if (Number.isInteger(x) && size < 1e15) text = size < 1e4 ? String(size) : whole(size);
    else if (size >= 1e4 && size < 1e9) text = whole(size);
    else text = String(Number(size.toPrecision(4)));
    return (x < 0 ? "−" : "") + text.replace("e-", "e−");
  }
  function dayText(days) {
    if (Number.isNaN(days)) return "missing";
    const date = new Date(Math.round(days * 864e5));
    if (Number.isNaN(date.getTime())) return numberText(days);
    const text = date.toISOString();
    return Number.isInteger(days) ? text.slice(0, 10) : text.slice(0, 16).replace("T", " ");
  }
  function cellText(row, player) {
    const column = columns[player],
      cell = column.cells[row];
    if (!column.numbers) return column.names[cell];
    return column.kind === "times" ? dayText(cell) : numberText(cell);
  }
  const rowName = (row) => D.names[row];
  function ticks(low, high, most) {
    const rough = (high - low) / most,
      power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
    const found = [];
    for (let k = Math.ceil(low / step); k * step <= high + step * 1e-9; k++) found.push(k * step);
    return found;
  }

  // ---- state --------------------------------------------------------------------------------
  const state = {
    output: 0,
    row: 0,
    feature: D.order[0][0],
    query: "",
    key: "number",
    down: false,
    page: 0,
  };
  let listed = [...Array(N).keys()];
  const strongest = (row, output) => {
    const { values } = table(output),
      order = [...Array(P).keys()];
    return order.sort((a, b) => Math.abs(values[row * P + b]) - Math.abs(values[row * P + a]));
  };
  // Where there is no interval, a half-width is NaN and nothing is unsure.
  const notSure = (value, half) => value === 0 || Math.abs(value) <= half;

  // ---- swarm --------------------------------------------------------------------------------
  const MIX = [
    [58, 134, 222],
    [160, 95, 192],
    [224, 64, 90],
  ];
  function shade(share) {
    const place = share * 2,
      first = place < 1 ? 0 : 1,
      part = place - first;
    const mixed = MIX[first].map((c, i) => Math.round(c + part * (MIX[first + 1][i] - c)));
    return `rgb(${mixed.join(",")})`;
  }
  const shadesOf = [];
  function shades(player) {
    if (shadesOf[player]) return shadesOf[player];
    const { numbers, cells } = columns[player],
      found = new Int8Array(N).fill(-1);
    if (numbers) {
      const known = Array.from(cells)
        .filter(Number.isFinite)
        .sort((a, b) => a - b);
      let low = known[Math.floor(0.05 * (known.length - 1))],
        high = known[Math.ceil(0.95 * (known.length - 1))];
      if (low === high) [low, high] = [known[0], known[known.length - 1]];
      for (let r = 0; r < N; r++) {
        if (Number.isNaN(cells[r])) continue;
        const place = low === high ? 0.5 : (cells[r] - low) / (high - low);
        const share = Math.min(1, Math.max(0, place));
        found[r] = Math.min(SHADES - 1, Math.floor(share * SHADES));
      }
    }
    return (shadesOf[player] = found);
  }
  let swarms = [];
  function drawSwarm() {
    const box = $("swarm");
    if (!box) return;
    const { values } = table(state.output),
      shown = D.order[state.output].slice(0, SWARMS);
    let low = 0,
      high = 0;
    for (let r = 0; r < N; r++)
      for (const p of shown) {
        low = Math.min(low, values[r * P + p]);
        high = Math.max(high, values[r * P + p]);
      }
    const room = 0.02 * (high - low || 1);
    [low, high] = [low - room, high + room];
    const across = (value) => ((value - low) / (high - low)) * 1000;
    swarms = [];
    const lines = shown.map((player) => {
      const points = heights(player, across, values),
        groups = Array.from({ length: SHADES + 1 }, () => []);
      const colours = shades(player);
      for (let r = 0; r < N; r++)
        groups[colours[r] + 1].push(`M${points.x[r].toFixed(1)} ${points.y[r].toFixed(1)}h0`);
      const picture = svg("svg", {
        viewBox: "0 0 1000 100",
        preserveAspectRatio: "none",
        "aria-hidden": "true",
      });
      picture.append(svg("line", { class: "zero", x1: across(0), x2: across(0), y1: 0, y2: 100 }));
      groups.forEach((dots, k) => {
        if (!dots.length) return;
        const path = svg("path", { class: "dots", d: dots.join("") });
        path.style.stroke = k ? shade((k - 0.5) / SHADES) : "#8a8f98";
        if (N > 400) path.style.strokeWidth = "4px";
        picture.append(path);
      });
      const chosen = svg("path", { class: "dots chosen", d: "" }),
        inner = svg("path", { class: "dots", d: "" });
      picture.append(chosen, inner);
      swarms.push({ points, chosen, inner, colours });
      const words = (r) => [D.features[player], " = ", cellText(r, player), ": ", told(r, player)];
      touch(picture, points, words);
      return el(
        "div",
        { class: "swarm-row" },
        el("span", { class: "name" }, bdi(D.features[player])),
        picture,
      );
    });
    const axis = el("div", { class: "axis" });
    axisTexts(axis, low, high, 6);
    const more = P - shown.length;
    const name = el(
      "div",
      { class: "axis-name" },
      "contribution" + (more > 0 ? ` (${whole(more)} weaker features are not drawn)` : ""),
    );
    const label =
      `Contributions of ${whole(N)} rows for the ${shown.length} strongest features; ` +
      "the table of rows below has the same numbers.";
    const below = el("div", { class: "swarm-row" }, el("span", {}), el("div", {}, axis, name));
    const attributes = { class: "swarm", role: "img", "aria-label": label };
    const picture = el("div", attributes, ...lines, below);
    box.replaceChildren(picture);
    markSwarm();
  }
  function heights(player, across, values) {
    const x = new Float64Array(N),
      y = new Float64Array(N),
      bins = new Map();
    for (let r = 0; r < N; r++) {
      x[r] = across(values[r * P + player]);
      const bin = Math.round(x[r] / 8);
      const rank = bins.get(bin) || 0;
      bins.set(bin, rank + 1);
      y[r] = Math.ceil(rank / 2) * (rank % 2 ? 1 : -1);
    }
    const step = Math.min(9, 40 / Math.max(1, Math.floor(Math.max(...bins.values()) / 2)));
    for (let r = 0; r < N; r++) y[r] = 50 + y[r] * step;
    return { x, y, height: 100 };
  }
  function markSwarm() {
    for (const { points, chosen, inner, colours } of swarms) {
      const d = "M" + points.x[state.row] + " " + points.y[state.row] + "h0",
        k = colours[state.row];
      chosen.setAttribute("d", d);
      inner.setAttribute("d", d);
      inner.style.stroke = k < 0 ? "#8a8f98" : shade((k + 0.5) / SHADES);
    }
  }
  const tip = el("div", { class: "tip", hidden: "", "aria-hidden": "true" });
  document.body.append(tip);
  function touch(picture, points, words) {
    const nearest = (event) => {
      const frame = picture.getBoundingClientRect();
      const x = event.clientX - frame.left,
        y = event.clientY - frame.top;
      let best = -1,
        distance = 400;
      for (let r = 0; r < N; r++) {
        const dx = (points.x[r] / 1000) * frame.width - x,
          dy = (points.y[r] / points.height) * frame.height - y;
        if (dx * dx + dy * dy < distance) [best, distance] = [r, dx * dx + dy * dy];
      }
      return best;
    };
    picture.addEventListener("click", (event) => {
      const row = nearest(event);
      if (row >= 0) choose(row, true);
    });
    picture.addEventListener("pointermove", (event) => {
      const row = nearest(event);
      tip.hidden = row < 0;
      if (row < 0) return;
      tip.replaceChildren(bdi(rowName(row)), el("br"), ...words(row).map((each) => bdi(each)));
      tip.style.left = Math.min(event.clientX + 14, innerWidth - 260) + "px";
      tip.style.top = event.clientY + 14 + "px";
    });
    picture.addEventListener("pointerleave", () => (tip.hidden = true));
  }
  function told(row, player, digits = rowDigits(row)) {
    const { values, halves } = table(state.output),
      i = row * P + player;
    const doubt = halves[i] > 0 ? " " + digits.doubt(halves[i]) : "";
    return digits.signed(values[i]) + doubt + digits.suffix;
  }
  const rowDigits = (row) => digitsOf(table(state.output).values.subarray(row * P, row * P + P));
  function axisTexts(axis, low, high, most, text) {
    const places = ticks(low, high, innerWidth < 700 ? Math.ceil(most / 2) : most),
      digits = digitsOf(places.length > 1 ? [places[1] - places[0]] : places, 1);
    for (const place of places) {
      const share = ((place - low) / (high - low)) * 100,
        side = share < 4 ? "first" : share > 96 ? "last" : null;
      const span = el(
        "span",
        { class: side },
        text ? text(place) : digits.unsigned(place) + (place ? digits.suffix : ""),
      );
      span.style.left = share + "%";
      axis.append(span);
    }
  }

  // ---- how a contribution changes with the value --------------------------------------------
  let mark = null;
  function drawDependence() {
    const box = $("dependence");
    if (!box) return;
    const player = state.feature,
      column = columns[player],
      { values, halves, exact } = table(state.output);
    const x = new Float64Array(N),
      y = new Float64Array(N);
    let low = 0,
      high = 0;
    for (let r = 0; r < N; r++) {
      const reach = halves[r * P + player] || 0;
      low = Math.min(low, values[r * P + player] - reach);
      high = Math.max(high, values[r * P + player] + reach);
    }
    const room = 0.04 * (high - low || 1);
    [low, high] = [low - room, high + room];
    const up = (value) => ((high - value) / (high - low)) * 300;
    const known = Array.from(column.cells).filter(Number.isFinite),
      shown = column.numbers ? null : commonest(column);
    const some = column.numbers && known.length < N;
    let least = 0,
      most = 1;
    if (column.numbers && known.length) {
      least = known.reduce((a, b) => Math.min(a, b));
      most = known.reduce((a, b) => Math.max(a, b));
    }
    if (least === most) [least, most] = [least - 0.5, most + 0.5];
    const from = some ? 90 : 15;
    const across = (cell) => from + ((cell - least) / (most - least)) * (985 - from);
    for (let r = 0; r < N; r++) {
      const cell = column.cells[r],
        jitter = ((r * 0.618034) % 1) - 0.5;
      if (column.numbers) x[r] = Number.isFinite(cell) ? across(cell) : 35 + jitter * 30;
      else x[r] = ((shown.place[cell] + 0.5 + jitter * 0.5) / shown.names.length) * 1000;
      y[r] = up(values[r * P + player]);
    }
    const picture = svg("svg", {
      viewBox: "0 0 1000 300",
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    });
    const levels = ticks(low, high, 6),
      digits = digitsOf(levels.length > 1 ? [levels[1] - levels[0]] : levels, 1);
    const side = el("div", { class: "heights" });
    for (const level of levels) {
      const at = Math.abs(level) < 1e-12 * (high - low) ? 0 : level;
      picture.append(
        svg("line", { class: at === 0 ? "zero" : "grid", x1: 0, x2: 1000, y1: up(at), y2: up(at) }),
      );
      const span = el("span", {}, digits.signed(at) + (at ? digits.suffix : ""));
      span.style.top = (up(at) / 300) * 100 + "%";
      side.append(span);
    }
    if (!exact) {
      let d = "";
      for (let r = 0; r < N; r++) {
        const half = halves[r * P + player],
          value = values[r * P + player];
        if (half > 0) {
          const [bottom, top] = [value - half, value + half].map((end) => up(end).toFixed(1));
          d += `M${x[r].toFixed(1)} ${bottom}V${top}`;
        }
      }
      picture.append(svg("path", { class: "reach", d }));
    }
    let d = "";
    for (let r = 0; r < N; r++) d += `M${x[r].toFixed(1)} ${y[r].toFixed(1)}h0`;
    const dots = svg("path", { class: "dots", d });
    dots.style.stroke = "var(--plain)";
    const trend = column.numbers ? trendOf(column.cells, values, player, across, up) : "";
    mark = { dot: svg("path", { class: "dots chosen", d: "" }), x, y };
    picture.append(dots, svg("path", { class: "trend", d: trend }), mark.dot);
    touch(picture, { x, y, height: 300 }, (r) => [
      D.features[player],
      " = ",
      cellText(r, player),
      ": ",
      told(r, player),
    ]);
    const axis = el("div", { class: "axis" });
    if (column.numbers) {
      if (some) {
        const span = el("span", { class: "first" }, "missing");
        span.style.left = "0%";
        axis.append(span);
      }
      const text = column.kind === "times" ? dayText : null,
        start = least - (from / (985 - from)) * (most - least);
      const inner = el("div", { class: "axis" }),
        end = most + (15 / (985 - from)) * (most - least);
      if (known.length) axisTexts(inner, start, end, column.kind === "times" ? 4 : 6, text);
      for (const span of [...inner.children])
        if (!some || parseFloat(span.style.left) > 12) axis.append(span);
    } else {
      shown.names.forEach((name, k) => {
        const span = el("span", {}, bdi(name.length > 14 ? name.slice(0, 13) + "…" : name));
        span.style.left = ((k + 0.5) / shown.names.length) * 100 + "%";
        axis.append(span);
      });
    }
    const words = `Contribution of ${D.features[player]} against its value, ${whole(N)} rows.`;
    const notes =
      (trend ? "line: mean of neighbouring rows" : "") +
      (exact ? "" : (trend ? "; " : "") + "thin lines: intervals");
    const more = notes ? ` (${notes})` : "";
    const name = el("div", { class: "axis-name" }, bdi(D.features[player]), more);
    box.replaceChildren(
      el(
        "div",
        { role: "img", "aria-label": words },
        el("div", { class: "plot" }, side, picture, el("span", {}), axis),
        name,
      ),
    );
    markDependence();
  }
  function commonest(column) {
    const counts = new Array(column.names.length).fill(0);
    for (const cell of column.cells) counts[cell]++;
    const order = counts.map((_, i) => i).sort((a, b) => counts[b] - counts[a]),
      most = 8;
    const kept = order.length <= most ? order : order.slice(0, most - 1);
    kept.sort((a, b) => a - b);
    const place = new Array(column.names.length).fill(kept.length),
      names = kept.map((each) => column.names[each]);
    kept.forEach((each, k) => (place[each] = k));
    if (kept.length < order.length) names.push(`${order.length - kept.length} others`);
    return { place, names };
  }
  function trendOf(cells, values, player, across, up) {
    const rows = [...Array(N).keys()]
      .filter((r) => Number.isFinite(cells[r]))
      .sort((a, b) => cells[a] - cells[b]);
    const each = Math.max(5, Math.ceil(rows.length / 16));
    if (rows.length < 3 * each || cells[rows[0]] === cells[rows[rows.length - 1]]) return "";
    const points = [];
    for (let start = 0; start + each <= rows.length; start += each) {
      const stop = start + 2 * each > rows.length ? rows.length : start + each,
        part = rows.slice(start, stop);
      const mean = (of) => part.reduce((sum, r) => sum + of(r), 0) / part.length;
      points.push([across(mean((r) => cells[r])), up(mean((r) => values[r * P + player]))]);
    }
    return points.map(([a, b], k) => (k ? "L" : "M") + a.toFixed(1) + " " + b.toFixed(1)).join("");
  }
  function markDependence() {
    if (mark) mark.dot.setAttribute("d", "M" + mark.x[state.row] + " " + mark.y[state.row] + "h0");
  }

  // ---- rows ---------------------------------------------------------------------------------
  const COLUMNS = [
    { key: "number", name: "Row" },
    { key: "prediction", name: "Prediction", right: true },
    { key: "width", name: "Widest interval", right: true },
    { key: "first", name: "Strongest reason", wide: true },
    { key: "second", name: "Second", wide: true },
  ];
  let reasonsOf = [];
  function topTwo(row) {
    const found = (reasonsOf[state.output] ||= []);
    if (found[row]) return found[row];
    const { values } = table(state.output);
    let first = 0,
      second = -1;
    for (let p = 1; p < P; p++) {
      const size = Math.abs(values[row * P + p]);
      if (size > Math.abs(values[row * P + first])) [second, first] = [first, p];
      else if (second < 0 || size > Math.abs(values[row * P + second])) second = p;
    }
    return (found[row] = [first, second]);
  }
  let haystack = null;
  function texts() {
    if (haystack) return haystack;
    haystack = new Array(N);
    for (let r = 0; r < N; r++) {
      let all = rowName(r) + "\n" + D.numbers[r];
      for (let p = 0; p < P; p++) all += "\n" + D.features[p] + " = " + cellText(r, p);
      haystack[r] = all.toLowerCase();
    }
    return haystack;
  }
  function relist() {
    const words = state.query
        .toLowerCase()
        .split(",")
        .map((word) => word.trim())
        .filter(Boolean),
      { predictions, widest, values } = table(state.output);
    listed = [...Array(N).keys()];
    if (words.length) {
      const all = texts();
      listed = listed.filter((r) => words.every((word) => all[r].includes(word)));
    }
    const strength = (r, k) => {
      const p = topTwo(r)[k];
      return p < 0 ? 0 : values[r * P + p];
    };
    const keys = {
      number: (r) => D.numbers[r],
      prediction: (r) => predictions[r],
      width: (r) => (Number.isNaN(widest[r]) ? Infinity : widest[r]),
      first: (r) => strength(r, 0),
      second: (r) => strength(r, 1),
    };
    const key = keys[state.key],
      sign = state.down ? -1 : 1;
    listed.sort((a, b) => sign * (key(a) - key(b)) || a - b);
    state.page = 0;
    drawTable();
  }
  function drawTable() {
    if (one) return;
    const { predictions, widest, exact } = table(state.output),
      digits = digitsOf(predictions, 4),
      widths = digitsOf(widest);
    const heads = COLUMNS.map(({ key, name, right, wide }) => {
      const sorted = state.key === key,
        sort = sorted ? (state.down ? "descending" : "ascending") : null;
      const act = () => {
        [state.down, state.key] = [sorted ? !state.down : key !== "number", key];
        relist();
        $("rows").querySelector(`[data-key="${key}"]`).focus();
      };
      const button = el(
        "button",
        { type: "button", "data-key": key, on: { click: act } },
        name + (sorted ? (state.down ? " ↓" : " ↑") : ""),
      );
      return el(
        "th",
        { scope: "col", class: right ? "right" : wide ? "wide" : null, "aria-sort": sort },
        button,
      );
    });
    $("rows").tHead.replaceChildren(el("tr", {}, ...heads));
    const pages = Math.max(1, Math.ceil(listed.length / PAGE));
    state.page = Math.min(state.page, pages - 1);
    const shown = listed.slice(state.page * PAGE, state.page * PAGE + PAGE);
    const lines = shown.map((r) => {
      const [first, second] = topTwo(r),
        chosen = r === state.row;
      const pick = el(
        "button",
        {
          type: "button",
          "data-row": r,
          "aria-current": chosen ? "true" : null,
          on: { click: () => choose(r, true) },
        },
        bdi(rowName(r)),
      );
      const width = exact
        ? "exact"
        : Number.isNaN(widest[r])
          ? "none"
          : widths.doubt(widest[r]) + widths.suffix;
      return el(
        "tr",
        { class: chosen ? "chosen" : null },
        el("td", {}, pick),
        el("td", { class: "right" }, digits.unsigned(predictions[r]) + digits.suffix),
        el("td", { class: "right" }, width),
        el("td", {}, ...reason(r, first)),
        el("td", {}, ...(second < 0 ? [] : reason(r, second))),
      );
    });
    $("rows").tBodies[0].replaceChildren(...lines);
    $("found").textContent =
      listed.length === N ? `${whole(N)} rows` : `${whole(listed.length)} of ${whole(N)} rows`;
    $("page").textContent = `Page ${state.page + 1} of ${pages}`;
    $("before").disabled = state.page === 0;
    $("after").disabled = state.page >= pages - 1;
  }
  function reason(row, player) {
    const value = table(state.output).values[row * P + player];
    return [
      bdi(D.features[player]),
      " = ",
      bdi(cellText(row, player)),
      " ",
      el("span", { class: tone(value) }, told(row, player)),
    ];
  }
  function drawSpecial() {
    for (const id of ["uncertain", "unusual"]) {
      const list = $(id);
      if (!list) continue;
      const { predictions, widest } = table(state.output),
        digits = digitsOf(predictions, 4),
        widths = digitsOf(widest);
      const places = D[id].map((number) => D.numbers.indexOf(number)).filter((place) => place >= 0);
      const items = places.map((r) => {
        const end =
          id === "uncertain"
            ? `widest interval ${widths.doubt(widest[r]) || "0"}${widths.suffix}`
            : "";
        const on = { click: () => choose(r, true) };
        const pick = el("button", { type: "button", on }, bdi(rowName(r)));
        const words = end ? [end] : reason(r, topTwo(r)[0]);
        return el(
          "li",
          {},
          pick,
          ": prediction ",
          digits.unsigned(predictions[r]),
          digits.suffix,
          ", ",
          ...words,
        );
      });
      const none =
        id === "uncertain"
          ? "All values are exact, or have no interval."
          : "All rows have the same contributions.";
      list.replaceChildren(...(items.length ? items : [el("li", {}, none)]));
    }
  }

  // ---- one row ------------------------------------------------------------------------------
  function drawRow() {
    const { values, halves, base, predictions } = table(state.output),
      row = state.row,
      order = strongest(row, state.output);
    const few = order.length > STEPS ? STEPS - 1 : order.length,
      steps = [];
    for (const p of order.slice(0, few)) {
      const i = row * P + p;
      steps.push({
        name: [bdi(D.features[p]), " = ", bdi(cellText(row, p))],
        value: values[i],
        half: halves[i],
        unsure: notSure(values[i], halves[i]),
      });
    }
    const rest = order.slice(few).reduce((sum, p) => sum + values[row * P + p], 0);
    if (few < order.length)
      steps.push({
        name: [`${whole(order.length - few)} other features`],
        value: rest,
        half: 0,
        others: true,
      });
    const sum = order.reduce((all, p) => all + values[row * P + p], 0),
      gap = predictions[row] - base[row] - sum;
    const ends = [base[row]];
    const size = Math.max(...steps.map((step) => Math.abs(step.value)), 1e-300);
    if (Math.abs(gap) > 0.005 * size)
      steps.push({ name: ["gap: what the values leave"], value: gap, half: 0, others: true });
    for (const step of steps) ends.push(ends[ends.length - 1] + step.value);
    let low = Math.min(...ends),
      high = Math.max(...ends);
    steps.forEach((step, k) => {
      low = Math.min(low, ends[k + 1] - (step.half || 0));
      high = Math.max(high, ends[k + 1] + (step.half || 0));
    });
    if (low === high) high = low + 1;
    const at = (value) => (0.5 + ((value - low) / (high - low)) * 99).toFixed(2) + "%";
    const digits = digitsOf(steps.map((step) => step.value)),
      numbers = digitsOf([base[row], predictions[row]], 4);
    const bar = (...parts) => svg("svg", { class: "bar", "aria-hidden": "true" }, ...parts);
    const line = (kind, a, b, top, bottom) =>
      svg("line", { class: kind, x1: at(a), x2: at(b), y1: top, y2: bottom });
    const end = (words, value) =>
      el(
        "li",
        { class: "end" },
        el("span", { class: "name" }, words),
        bar(line("mark", value, value, 3, 21)),
        el("span", { class: "number" }, numbers.unsigned(value) + numbers.suffix),
      );
    const lines = steps.map((step, k) => {
      const start = ends[k],
        stop = ends[k + 1],
        parts = [line("joint", start, start, 0, 5), line("joint", stop, stop, 19, 24)];
      const left = Math.min(start, stop),
        width = ((Math.abs(stop - start) / (high - low)) * 99).toFixed(2) + "%";
      parts.push(
        svg("rect", {
          class: (step.value < 0 ? "negative" : "positive") + (step.others ? " others" : ""),
          x: at(left),
          y: 5,
          width,
          height: 14,
        }),
      );
      if (step.half > 0)
        parts.push(
          line("whisker", stop - step.half, stop + step.half, 12, 12),
          line("whisker", stop - step.half, stop - step.half, 8, 16),
          line("whisker", stop + step.half, stop + step.half, 8, 16),
        );
      const doubt = step.half > 0 ? digits.doubt(step.half) : "";
      const number = el(
        "span",
        { class: "number" },
        el("span", { class: tone(step.value) }, digits.signed(step.value)),
        " ",
        el("span", { class: "doubt" }, doubt + (step.value ? digits.suffix : "")),
      );
      const note = step.others
        ? ""
        : step.value === 0
          ? "no contribution"
          : Number.isNaN(step.half)
            ? "no interval"
            : step.unsure
              ? "cannot be told from zero"
              : "";
      return el(
        "li",
        { class: step.unsure ? "unsure" : null },
        el("span", { class: "name" }, ...step.name),
        bar(...parts),
        number,
        el("span", { class: "note" }, note),
      );
    });
    $("waterfall").classList.toggle("doubtful", Boolean(D.doubts[D.doubtful[state.output][row]]));
    $("waterfall").replaceChildren(
      end("Base value", base[row]),
      ...lines,
      end("Prediction", predictions[row]),
    );
    $("row-title").replaceChildren(
      one ? "How the prediction is made up" : "Why ",
      ...(one ? [] : [bdi(rowName(row)), " got its prediction"]),
    );
    drawReasons(order, digits, numbers);
  }
  function drawReasons(order, digits, numbers) {
    const { values, halves, base, predictions, exact } = table(state.output),
      row = state.row,
      difference = predictions[row] - base[row];
    const parts = [],
      say = (...words) => parts.push(...words);
    const text = (number) => numbers.unsigned(number) + numbers.suffix;
    const side = difference > 0 ? "above" : "below";
    const where = difference === 0 ? "the same as" : `${text(Math.abs(difference))} ${side}`;
    say(
      "The prediction",
      ...(D.outputs.length > 1 ? [" for ", bdi(D.outputs[state.output])] : []),
      ` is ${text(predictions[row])}, ${where} the base value of ${text(base[row])}.`,
    );
    const sure = order.filter(
      (p) => !notSure(values[row * P + p], halves[row * P + p]) && values[row * P + p] !== 0,
    );
    for (const [sign, words] of [
      [1, " Upwards: "],
      [-1, " Downwards: "],
    ]) {
      const few = sure.filter((p) => Math.sign(values[row * P + p]) === sign).slice(0, 3);
      if (!few.length) continue;
      say(words);
      few.forEach((p, k) => {
        say(
          k === 0 ? "" : k === few.length - 1 ? " and " : ", ",
          el("b", {}, bdi(D.features[p])),
          " = ",
          bdi(cellText(row, p)),
          " (",
          told(row, p, digits),
          ")",
        );
      });
      say(".");
    }
    const unsure = P - sure.length;
    if (unsure)
      say(
        exact
          ? ` ${unsure} of ${P} features add nothing here.`
          : ` ${unsure} of ${P} features cannot be told from zero here.`,
      );
    const doubt = D.doubts[D.doubtful[state.output][row]];
    const none = order.every((p) => Number.isNaN(halves[row * P + p]));
    if (none) say(" There are no intervals", ...(doubt ? [": ", bdi(doubt)] : []), ".");
    else if (doubt) say(" The intervals of this row may mislead: ", bdi(doubt), ".");
    $("reasons").replaceChildren(...parts);
  }
  function choose(row, move) {
    state.row = row;
    drawRow();
    markSwarm();
    markDependence();
    const place = listed.indexOf(row);
    if (place >= 0) state.page = Math.floor(place / PAGE);
    drawTable();
    if (move) {
      const title = $("row-title");
      title.scrollIntoView({ block: "start" });
      title.focus({ preventScroll: true });
    }
  }
  function step(by) {
    const place = listed.indexOf(state.row),
      next = place < 0 ? 0 : (place + by + listed.length) % listed.length;
    if (listed.length) choose(listed[next], false);
  }

  // ---- widths -------------------------------------------------------------------------------
  function drawWidths() {
    const box = $("widths");
    if (!box) return;
    const widths = [...table(state.output).widest].filter(Number.isFinite).sort((a, b) => a - b),
      digits = digitsOf(widths);
    if (!widths.length) return box.replaceChildren(el("p", {}, "There are no intervals."));
    const text = (share) => {
      const place = Math.min(widths.length - 1, Math.floor(share * widths.length));
      return digits.doubt(widths[place]).slice(2) + digits.suffix || "0";
    };
    const words = one
      ? `The widest interval is ±\u00a0${text(0)}.`
      : `The widest interval of a row is ±\u00a0${text(0.5)} or less in half of the rows, ` +
        `±\u00a0${text(0.95)} or less in 95 % of them, ±\u00a0${text(1)} at most.`;
    const parts = [el("p", {}, words)];
    if (!one) {
      const bins = 24,
        most = widths[widths.length - 1] || 1,
        counts = new Array(bins).fill(0);
      for (const width of widths) counts[Math.min(bins - 1, Math.floor((width / most) * bins))]++;
      const tallest = Math.max(...counts),
        picture = svg("svg", {
          viewBox: `0 0 ${bins} 100`,
          preserveAspectRatio: "none",
          class: "bar",
          "aria-hidden": "true",
        });
      picture.style.height = "90px";
      counts.forEach((count, k) =>
        picture.append(
          svg("rect", {
            class: "neutral",
            x: k + 0.05,
            width: 0.9,
            y: 100 - (count / tallest) * 100,
            height: (count / tallest) * 100,
          }),
        ),
      );
      const axis = el("div", { class: "axis" });
      axisTexts(axis, 0, most, 5);
      parts.push(
        el(
          "div",
          { role: "img", "aria-label": "Rows by the width of their widest interval. " + words },
          picture,
          axis,
          el(
            "div",
            { class: "axis-name" },
            "widest half-width of a row; a bar’s height is how many rows have it",
          ),
        ),
      );
    }
    return box.replaceChildren(...parts);
  }

  // ---- all of it ----------------------------------------------------------------------------
  function draw() {
    document
      .querySelectorAll(".of-output")
      .forEach((part) => (part.hidden = Number(part.dataset.output) !== state.output));
    drawSwarm();
    drawDependence();
    drawSpecial();
    drawWidths();
    drawRow();
    relist();
  }
  function features() {
    const select = $("feature"),
      most = 500;
    if (!select) return;
    const strongest = D.order[state.output].slice(0, most);
    const chosen = strongest.map((p) => el("option", { value: p }, D.features[p]));
    select.replaceChildren(...chosen);
    select.value = String(state.feature);
  }
  document.querySelectorAll(".needs-script").forEach((part) => (part.hidden = false));
  const theme = $("theme"),
    isDark = () =>
      (document.documentElement.dataset.theme ||
        (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const setTheme = () => theme.setAttribute("aria-pressed", String(isDark()));
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    setTheme();
  });
  setTheme();
  if ($("output"))
    $("output").addEventListener("change", (event) => {
      state.output = Number(event.target.value);
      state.feature = D.order[state.output][0];
      features();
      draw();
    });
  if ($("feature"))
    $("feature").addEventListener("change", (event) => {
      state.feature = Number(event.target.value);
      drawDependence();
    });
  $("search").addEventListener("input", (event) => {
    state.query = event.target.value;
    relist();
  });
  $("before").addEventListener("click", () => (state.page--, drawTable()));
  $("after").addEventListener("click", () => (state.page++, drawTable()));
  $("row-before").addEventListener("click", () => step(-1));
  $("row-after").addEventListener("click", () => step(1));
  addEventListener("beforeprint", () =>
    document.querySelectorAll("details").forEach((each) => (each.open = true)),
  );
  features();
  draw();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
