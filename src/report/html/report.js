// SPDX-License-Identifier: MIT
// report.js - what the HTML report can do beyond reading: tables that sort and filter, flame graphs that zoom and search.
// All text comes from the page itself and goes back as text, never as markup.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const all = (selector, within) => Array.from((within || document).querySelectorAll(selector));
  const make = (name, text, attributes) => {
    const element = document.createElement(name);
    if (text) element.textContent = text;
    for (const key of Object.keys(attributes || {})) element.setAttribute(key, attributes[key]);
    return element;
  };

  // ---- tables ----

  const valueOf = (cell) => {
    if (!cell) return null;
    if (cell.hasAttribute("data-v")) return Number(cell.getAttribute("data-v"));
    const text = cell.textContent.trim();
    if (text === "–" || text === "") return null;
    const number = /^[<>]?-?[\d,]+(\.\d+)?(e[+-]?\d+)?(?=$|[ %])/.exec(text);
    return number ? parseFloat(number[0].replace(/[<>,]/g, "")) : text.toLowerCase();
  };
  const compare = (a, b) => {
    if (a === b) return 0;
    if (a === null) return 1;
    if (b === null) return -1;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return a < b ? -1 : 1;
  };
  const sortBy = (table, column, heads) => {
    const body = table.tBodies[0];
    const direction = heads[column].getAttribute("aria-sort") === "descending" ||
      (!heads[column].hasAttribute("aria-sort") && !heads[column].classList.contains("r")) ? 1 : -1;
    const rows = Array.from(body.rows).map((row, at) => ({ row, at, value: valueOf(row.cells[column]) }));
    rows.sort((a, b) => (a.value === null || b.value === null ? compare(a.value, b.value)
            : direction * compare(a.value, b.value)) || a.at - b.at);
    for (const item of rows) body.appendChild(item.row);
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
  };
  const makeSortable = (table) => {
    const heads = Array.from(table.tHead.rows[0].cells);
    if (table.tBodies[0].rows.length < 2) return;
    heads.forEach((head, column) => {
      const button = make("button", head.textContent, { type: "button", title: "Sort by this column" });
      head.textContent = "";
      head.appendChild(button);
      button.addEventListener("click", () => sortBy(table, column, heads));
    });
  };
  // names that are shown short are found whole
  const wordsOf = (row) =>
    [row.textContent, ...all("[title]", row).map((e) => e.getAttribute("title"))].join(" ").toLowerCase();
  const makeFilter = (table) => {
    const rows = Array.from(table.tBodies[0].rows);
    if (rows.length < 6) return;
    const tools = make("p", "", { class: "tools" });
    const input = make("input", "", { type: "search", placeholder: "Filter rows",
            "aria-label": "Filter rows of this table" });
    const told = make("span", "", { role: "status" });
    tools.append(input, told);
    table.parentElement.before(tools);
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      let shown = 0;
      for (const row of rows) {
        const off = wanted !== "" && !wordsOf(row).includes(wanted);
        row.classList.toggle("off", off);
        shown += off ? 0 : 1;
      }
      told.textContent = wanted ? `${shown} of ${rows.length} rows` : "";
    });
  };
  for (const table of all("table.sort")) {
    makeSortable(table);
    makeFilter(table);
  }

  // ---- what stands under the pointer or the focus, as a line of text ----

  for (const figure of all("figure")) {
    const svg = figure.querySelector("svg.chart");
    if (!svg) continue;
    const info = make("p", "", { class: "info", "aria-live": "polite" });
    svg.parentElement.after(info);
    const tell = (event) => {
      const title = event.target.querySelector(":scope > title") ||
            event.target.parentElement.querySelector(":scope > title");
      if (title) info.textContent = title.textContent;
    };
    for (const kind of ["pointerover", "focusin", "click"]) svg.addEventListener(kind, tell);
  }

  // ---- what flame graphs and timelines share ----

  const WIDTH = 1000, NARROW = 640;
  const nameOf = (title) => title.replace(/: [^:]*$/, "");
  // a path is told by its last part
  const labelOf = (name) => name.slice(name.split(/[ <]/)[0].replace(/\/$/, "").lastIndexOf("/") + 1);
  const shape = (name, attributes, text) => {
    const element = document.createElementNS(SVG, name);
    for (const key of Object.keys(attributes)) element.setAttribute(key, attributes[key]);
    if (text) element.textContent = text;
    return element;
  };
  // On a narrow screen a drawing that zooms is laid out anew, as wide as its box: nothing is shrunk or cut. Tells its width.
  const fit = (svg) => {
    const box = svg.parentElement, wide = box.clientWidth > 0 && box.clientWidth < NARROW ?
            Math.max(box.clientWidth, 200) : WIDTH;
    svg.setAttribute("viewBox", `0 0 ${wide} ${svg.viewBox.baseVal.height}`);
    svg.classList.toggle("fit", wide < WIDTH);
    return wide;
  };
  // how much of a label there is room for, as its font has it
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `11.5px ${getComputedStyle(document.body).fontFamily}`;
  const widths = new Map();
  const widthOf = (letter) => {
    if (!widths.has(letter)) widths.set(letter, pen.measureText(letter).width);
    return widths.get(letter);
  };
  const fitting = (label, room) => {
    const letters = Array.from(label);
    let used = 0, kept = 0;
    for (const letter of letters) {
      used += widthOf(letter);
      if (used > room) return `${letters.slice(0, kept).join("")}…`;
      if (used + widthOf("…") <= room) kept += 1;
    }
    return label;
  };
  // the label of a bar
  const writeLabel = (node, x, width, kind, wide) => {
    let text = node.g.querySelector("text");
    const room = Math.min(x + width, wide) - Math.max(x, 0) - 6;
    if (room < 20) {
      if (text) text.remove();
      return;
    }
    if (!text) text = node.g.appendChild(shape("text", { class: kind, y: Number(node.rect.getAttribute("y")) + 12.5 }));
    text.setAttribute("x", String(Math.max(x, 0) + 3));
    text.textContent = fitting(node.label, room);
  };

  // ---- flame graphs ----

  const makeFlame = (svg) => {
    const figure = svg.closest("figure");
    const nodes = all("g[data-d]", svg).map((g) => {
      const rect = g.querySelector("rect"), title = g.querySelector("title").textContent, name = nameOf(title);
      return {
        g, rect, title, name, label: labelOf(name), depth: Number(g.getAttribute("data-d")),
        x: Number(rect.getAttribute("x")), width: Number(rect.getAttribute("width")),
      };
    });
    if (!nodes.length) return;
    const ROW = Number(nodes[0].rect.getAttribute("height"));
    let root = nodes[0], current = nodes[0], wide = fit(svg);
    const holds = (outer, inner) => outer.depth <= inner.depth && outer.x <= inner.x + 0.01 &&
            outer.x + outer.width >= inner.x + inner.width - 0.01;
    const draw = () => {
      let deepest = 0;
      for (const node of nodes) {
        const above = node.depth < root.depth && holds(node, root), within = holds(root, node);
        node.g.classList.toggle("hidden", !above && !within);
        if (!above && !within) continue;
        const x = above ? 0 : (node.x - root.x) * wide / root.width;
        const width = above ? wide : node.width * wide / root.width;
        node.rect.setAttribute("x", x.toFixed(2));
        node.rect.setAttribute("width", Math.max(width, 0.1).toFixed(2));
        writeLabel(node, x, width, "in", wide);
        if (width >= 1) deepest = Math.max(deepest, node.depth);
      }
      svg.setAttribute("viewBox", `0 0 ${wide} ${(deepest + 1) * ROW + 1}`);
      reset.disabled = root === nodes[0];
      svg.setAttribute("data-root", root.name);
    };
    const focus = (node) => {
      current.g.setAttribute("tabindex", "-1");
      current = node;
      current.g.setAttribute("tabindex", "0");
      current.g.focus({ preventScroll: true });
    };
    const zoom = (node) => {
      root = node;
      draw();
      focus(node);
    };
    const shown = (node) => !node.g.classList.contains("hidden");
    const go = {
      ArrowUp: () => nodes.find((node) => node.depth === current.depth - 1 && holds(node, current)),
      ArrowDown: () => nodes.filter((node) => shown(node) && node.depth === current.depth + 1 &&
            holds(current, node)).sort((a, b) => a.x - b.x)[0],
      ArrowLeft: () => nodes.filter((node) => shown(node) && node.depth === current.depth &&
            node.x < current.x).sort((a, b) => b.x - a.x)[0],
      ArrowRight: () => nodes.filter((node) => shown(node) && node.depth === current.depth &&
            node.x > current.x).sort((a, b) => a.x - b.x)[0],
    };
    const tools = make("p", "", { class: "tools" });
    const search = make("input", "", { type: "search", placeholder: "Search names",
            "aria-label": "Search names in this flame graph" });
    const reset = make("button", "Reset zoom", { type: "button" });
    const told = make("span", "Click or press Enter to zoom, arrow keys to move, Escape to reset.",
            { class: "muted", role: "status" });
    tools.append(search, reset, told);
    svg.parentElement.before(tools);
    reset.addEventListener("click", () => zoom(nodes[0]));
    search.addEventListener("input", () => {
      const wanted = search.value.trim().toLowerCase();
      let count = 0, share = 0, covered = [];
      for (const node of nodes) {
        const hit = wanted !== "" && node.name.toLowerCase().includes(wanted);
        node.g.classList.toggle("hit", hit);
        if (!hit) continue;
        count++;
        // what stands below another hit counts within it
        if (!covered.some((outer) => holds(outer, node))) {
          covered.push(node);
          share += node.width / nodes[0].width;
        }
      }
      told.textContent = wanted ? `${count} found, ${(100 * share).toFixed(1)} % of the whole` : "";
    });
    svg.setAttribute("role", "group");
    for (const node of nodes) {
      node.g.setAttribute("tabindex", node === nodes[0] ? "0" : "-1");
      node.g.setAttribute("role", "button");
      node.g.setAttribute("aria-label", node.title);
      node.g.addEventListener("click", () => zoom(node));
    }
    svg.addEventListener("keydown", (event) => {
      const target = go[event.key] ? go[event.key]() : null;
      if (event.key === "Enter" || event.key === " ") zoom(current);
      else if (event.key === "Escape") zoom(nodes[0]);
      else if (target) focus(target);
      else if (!go[event.key]) return;
      event.preventDefault();
    });
    draw();
    window.addEventListener("resize", () => {
      const last = wide;
      wide = fit(svg);
      if (wide !== last) draw();
    });
    figure.setAttribute("data-ready", "");
  };
  for (const svg of all("svg.flame")) makeFlame(svg);

  // ---- timelines ----

  const timeText = (ns) => {
    const most = Math.abs(ns), [size, unit] = most >= 1e9 ? [1e9, "s"] : most >= 1e6 ? [1e6, "ms"] : [1e3, "us"];
    return ns === 0 ? "0" : `${parseFloat((ns / size).toPrecision(6))} ${unit}`;
  };
  // marks with times below a drawing, from @first to @first + @range of it, between @left and @wide
  const drawAxis = (axis, first, range, left, wide, most, top, bottom) => {
    axis.textContent = "";
    let step = 10 ** Math.floor(Math.log10(range / most));
    step *= range / step > 5 * most ? 10 : range / step > 2 * most ? 5 : range / step > most ? 2 : 1;
    for (let at = Math.ceil(first / step) * step; at <= first + range; at += step) {
      const x = left + (at - first) * (wide - left) / range;
      axis.append(shape("line", { class: "grid", x1: x, x2: x, y1: top, y2: bottom }));
      if (x < wide - 20) axis.append(shape("text", { class: x < left + 20 ? "small" : "small m", x, y: bottom + 13 },
          timeText(Math.round(at))));
    }
  };
  // The wheel zooms where the pointer is; what is dragged moves, and is not clicked. @share: of the drawing, of a pointer.
  const followPointer = (svg, share, zoomAt, move) => {
    svg.addEventListener("wheel", (event) => {
      zoomAt(event.deltaY < 0 ? 1.25 : 0.8, share(event.clientX), event.clientY);
      event.preventDefault();
    }, { passive: false });
    let drag = null;
    svg.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, y: event.clientY, from: null, moved: false };
    });
    svg.addEventListener("pointermove", (event) => {
      if (!drag || !(event.buttons & 1)) return;
      drag.moved = drag.moved || Math.abs(event.clientX - drag.x) > 3 || Math.abs(event.clientY - drag.y) > 3;
      if (drag.moved) drag.from = move(share(drag.x) - share(event.clientX), drag.from, drag.y - event.clientY);
    });
    svg.addEventListener("click", (event) => { if (drag && drag.moved) event.stopPropagation(); }, true);
  };

  // Buttons above a drawing and keys on it; where to say what is seen.
  const steer = (svg, deeds) => {
    const keys = { "+": "Zoom in", "=": "Zoom in", "-": "Zoom out", ArrowLeft: "Left", ArrowRight: "Right",
            Escape: "Reset zoom" };
    const tools = make("p", "", { class: "tools" });
    const told = make("span", "", { class: "muted", role: "status" });
    for (const name of Object.keys(deeds))
            tools.appendChild(make("button", name, { type: "button" })).addEventListener("click", deeds[name]);
    tools.append(told);
    svg.parentElement.before(tools);
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("keydown", (event) => {
      if (!keys[event.key]) return;
      deeds[keys[event.key]]();
      event.preventDefault();
    });
    return told;
  };
  const makeTimeline = (svg) => {
    const axis = svg.querySelector("g.axis"), duration = Number(axis.getAttribute("data-v"));
    const line = axis.querySelector("line");
    const top = line.getAttribute("y1"), bottom = Number(line.getAttribute("y2"));
    const read = (rect) => ({ rect, x: Number(rect.getAttribute("x")), width: Number(rect.getAttribute("width")) });
    const labelKind = (kind) => kind === "kernel" || kind === "communication" ? "gin"
            : kind === "memcpy" || kind === "memset" ? null : "tin";
    const bars = all("g.b", svg).map((g) => {
      const rect = g.querySelector("rect"), kind = Array.from(rect.classList).find((name) => name !== "cell");
      return {
        ...read(rect), g, label: g.getAttribute("data-n") || labelOf(nameOf(g.querySelector("title").textContent)),
        kind: labelKind(kind),
      };
    });
    // Rows that are not drawn until the reader zooms or goes elsewhere; the groups that show them are used again.
    const more = svg.querySelector("g.more"), pool = [];
    const [from, reach, ...tops] = more ? more.getAttribute("data-d").split(" ").map(Number) : [0, duration];
    const [reachFrom, reachTo] = [from, from + reach].map((ns) => ns * WIDTH / duration);
    const LOW = Math.min(reachFrom, 0), HIGH = Math.max(reachTo, WIDTH), LEAST = WIDTH / 1e5, MOST_DRAWN = 1200;
    let unpacked = null;
    const unpack = () => {
      const names = more.getAttribute("data-n").split("\n").map((text) => text.split("\t"));
      return more.getAttribute("data-v").split(";").map((text) => text.split(" ").map(Number))
        .filter((row) => row.length === 5 && row[0] < names.length - 1).map(([name, lane, depth, ns, dur]) => ({
          name: names[name], y: tops[lane] + 17 * depth, ns, dur, x: ns * WIDTH / duration, width: dur * WIDTH / duration,
        }));
    };
    const drawMore = () => {
      if (!more) return;
      unpacked = unpacked || unpack();
      const seen = unpacked.filter((row) => row.x < start + width && row.x + row.width > start &&
            row.width * wide > 0.4 * width);
      if (seen.length > MOST_DRAWN) seen.sort((a, b) => b.width - a.width).length = MOST_DRAWN;
      while (pool.length < seen.length) {
        const g = shape("g", { class: "row" }), title = g.appendChild(shape("title", {}));
        const bar = { g, title, rect: g.appendChild(shape("rect", { height: 17 })) };
        g.addEventListener("click", () => lookAt(bar.x, bar.width));
        more.append(g);
        pool.push(bar);
      }
      pool.forEach((bar, at) => {
        const row = seen[at];
        bar.g.classList.toggle("hidden", !row);
        if (!row) return;
        const [kind, name, label] = row.name;
        Object.assign(bar, { x: row.x, width: row.width, label });
        bar.title.textContent = `${name}: ${timeText(row.dur)}, starts after ${timeText(row.ns)}`;
        bar.rect.setAttribute("class", kind);
        bar.rect.setAttribute("y", row.y);
        const text = bar.g.querySelector("text"), placed = place(bar);
        if (text) text.remove();
        if (placed && labelKind(kind)) writeLabel(bar, placed[0], placed[1], labelKind(kind), wide);
      });
    };
    const gaps = all("rect.gapmark, rect.findmark, rect.placemark", svg).map(read);
    svg.look = (marks) => {
      const places = gaps.filter((gap) => marks.contains(gap.rect));
      let from = Math.min(...places.map((gap) => gap.x)), to = Math.max(...places.map((gap) => gap.x + gap.width));
      // in many steps: the costliest
      if (to - from > WIDTH) [from, to] = [places[0].x, places[0].x + places[0].width];
      lookAt(from, to - from);
    };
    let start = 0, width = WIDTH, wide = fit(svg);
    const place = (item) => {
      const from = (item.x - start) * wide / width, to = from + item.width * wide / width;
      const x = Math.max(from, -2), end = Math.min(to, wide + 2);
      if (end > x) {
        item.rect.setAttribute("x", x.toFixed(2));
        item.rect.setAttribute("width", Math.max(end - x, 0.5).toFixed(2));
      }
      return end > x ? [x, end - x] : null;
    };
    const draw = () => {
      for (const bar of bars) {
        const placed = place(bar);
        bar.g.classList.toggle("hidden", !placed);
        if (placed && bar.kind) writeLabel(bar, placed[0], placed[1], bar.kind, wide);
      }
      for (const gap of gaps) gap.rect.classList.toggle("hidden", !place(gap));
      drawMore();
      drawAxis(axis, duration * start / WIDTH, duration * width / WIDTH, 0, wide, wide < WIDTH ? 4 : 8, top, bottom);
      told.textContent = width !== WIDTH || start !== 0
            ? `${timeText(Math.round(duration * start / WIDTH))} to ${timeText(Math.round(duration *
            (start + width) / WIDTH))}`
            : "";
      svg.setAttribute("data-zoom", (WIDTH / width).toFixed(2));
    };
    const show = (from, wide) => {
      width = Math.min(Math.max(wide, LEAST), HIGH - LOW);
      start = Math.min(Math.max(from, LOW), HIGH - width);
      draw();
    };
    // with a little before and behind, but not beyond the step that it lies in
    const lookAt = (x, w) => {
      const within = x > -0.01 && x + w < WIDTH + 0.01;
      const from = within ? Math.max(x - w / 8, 0) : x - w / 8;
      show(from, (within ? Math.min(x + w * 1.125, WIDTH) : x + w * 1.125) - from);
    };
    const zoomAt = (factor, share) => {
      const next = Math.min(Math.max(width / factor, LEAST), HIGH - LOW);
      show(start + (width - next) * share, next);
    };
    const zoom = (factor) => zoomAt(factor, 0.5);
    const deeds = {
      "Zoom in": () => zoom(2), "Zoom out": () => zoom(0.5), "Left": () => show(start - width / 3, width),
            "Right": () => show(start + width / 3, width),
      "Reset zoom": () => show(0, WIDTH),
    };
    const told = steer(svg, deeds);
    const share = (x) => {
      const box = svg.getBoundingClientRect();
      return (x - box.left) / box.width;
    };
    followPointer(svg, share, zoomAt, (by, from) => {
      const at = from === null ? start : from;
      show(at + by * width, width);
      return at;
    });
    for (const bar of bars) bar.g.addEventListener("click", () => lookAt(bar.x, bar.width));
    if (wide < WIDTH) draw();
    window.addEventListener("resize", () => {
      const last = wide;
      wide = fit(svg);
      if (wide !== last) draw();
    });
  };
  for (const svg of all("svg.timeline")) makeTimeline(svg);

  // ---- curves: stretched between the axis at the left and the right edge ----

  const bytesText = (bytes) => {
    const at = bytes > 0 ? Math.min(Math.floor(Math.log2(bytes) / 10), 5) : 0;
    return `${parseFloat((bytes / 1024 ** at).toPrecision(3))} ${["B", "KiB", "MiB", "GiB", "TiB", "PiB"][at]}`;
  };
  // Single allocations: within its band each stands upon those that were made before it, as long as it lives.
  const readAllocations = (svg, cells) => {
    const numbers = (text) => text.split(" ").map(Number);
    const [perByte, bottom, ...xs] = numbers(cells.getAttribute("data-d"));
    const stacks = cells.getAttribute("data-n").split("\n"), bands = new Map(), below = xs.map(() => 0);
    for (const g of all("g.bands g.b", svg)) {
      bands.set(g.getAttribute("data-d"), { low: below.slice(), list: [],
        words: g.querySelector("title").textContent.replace(/: at most .*/, "") });
      numbers(g.getAttribute("data-v")).forEach((height, at) => { below[at] += height; });
    }
    for (const text of cells.getAttribute("data-v").split(";")) {
      const [band, from, to, bytes, lived, ends, stack] = numbers(text), of = bands.get(String(band));
      if (of && stack !== undefined) of.list.push({ of, from, to, bytes, lived, ends, stack: stacks[stack] });
    }
    for (const of of bands.values()) of.list.sort((a, b) => a.from - b.from || b.bytes - a.bytes);
    const span = (item, at) => {
      let low = item.of.low[at];
      for (const other of item.of.list) {
        if (other === item || other.from > item.from) break;
        if (other.from <= at && at < other.to) low += other.bytes * perByte;
      }
      return [low, low + item.bytes * perByte];
    };
    return {
      find: (number, x, y) => {
        const of = bands.get(number), next = xs.findIndex((one) => one > x), at = next < 0 ? xs.length - 1 : next - 1;
        let low = of && at >= 0 ? of.low[at] : Infinity;
        for (const item of low < Infinity ? of.list : []) {
          if (item.from > at || at >= item.to) continue;
          low += item.bytes * perByte;
          if (bottom - low <= y) return item;
        }
        return null;
      },
      outline: (item) => {
        let there = "", back = "";
        for (let at = item.from; at < item.to; at++) {
          const [low, high] = span(item, at).map((height) => (bottom - height).toFixed(2));
          const end = xs[Math.min(at + 1, xs.length - 1)];
          there += `${there ? "L" : "M"}${xs[at]} ${high}H${end}`;
          back = `L${end} ${low}H${xs[at]}` + back;
        }
        return `${there}${back}Z`;
      },
      tell: (item) => `${bytesText(item.bytes)} for ${item.of.words}` +
        (item.lived >= 0 ? `, in use for ${item.ends ? "at least " : ""}${timeText(item.lived)}` : "") +
        (item.ends & 2 ? ", not freed within the recording" : "") +
        (item.stack ? `; by ${item.stack}` : item.ends & 1 ? "; there before the recording" : "; its stack is not told"),
    };
  };
  const makeCurve = (svg) => {
    const zoomed = svg.querySelector("g.zoomed"), axis = svg.querySelector("g.axis"), LEFT = 80, ROOM = WIDTH - LEFT;
    const line = axis && axis.querySelector("line");
    const top = line && Number(line.getAttribute("y1")), bottom = line && Number(line.getAttribute("y2"));
    const fixed = all("circle, text", zoomed).map((e) => ({ e, x: Number(e.getAttribute("x") || e.getAttribute("cx")),
      y: Number(e.getAttribute("y") || e.getAttribute("cy")) }));
    const bytes = svg.querySelector("g.bytes"), [full, foot] = bytes.getAttribute("data-d").split(" ").map(Number);
    const drawBytes = () => {
      const perByte = (foot - full) / Number(bytes.getAttribute("data-v")), by = foot / tall;
      const least = Math.max((foot - above - tall) / perByte, 0), most = (foot - above) / perByte;
      const step = 2 ** Math.max(Math.ceil(Math.log2((most - least) / 6)), 0);
      bytes.textContent = "";
      for (let at = Math.ceil(least / step) * step; at <= most; at += step) {
        const y = (foot - at * perByte - above) * by;
        bytes.append(shape("line", { class: "grid", x1: LEFT, x2: WIDTH, y1: y, y2: y }));
        if (y > 8) bytes.append(shape("text", { class: "small e", x: LEFT - 6, y: y + 4 }, bytesText(at)));
      }
    };
    // what is seen: from the left and from the top, and how much of both
    let start = 0, width = ROOM, above = 0, tall = foot;
    const show = (from, wide, top1 = above, tall1 = tall) => {
      width = Math.min(Math.max(wide, ROOM / 1000), ROOM);
      start = Math.min(Math.max(from, 0), ROOM - width);
      tall = Math.min(Math.max(tall1, foot / 1000), foot);
      above = Math.min(Math.max(top1, 0), foot - tall);
      const by = ROOM / width, up = foot / tall, shift = LEFT - (LEFT + start) * by;
      zoomed.setAttribute("transform", `translate(${shift.toFixed(3)} ${(-above * up).toFixed(3)}) ` +
        `scale(${by.toFixed(5)} ${up.toFixed(5)})`);
      // letters are moved, not stretched
      for (const { e, x, y } of fixed)
        e.setAttribute("transform", `translate(${x} ${y}) scale(${1 / by} ${1 / up}) translate(${-x} ${-y})`);
      const duration = axis ? Number(axis.getAttribute("data-v")) : 0;
      if (axis) drawAxis(axis, duration * start / ROOM, duration * width / ROOM, LEFT, WIDTH, 8, top, bottom);
      drawBytes();
      told.textContent = width < ROOM && axis
            ? `${timeText(Math.round(duration * start / ROOM))} to ` +
            timeText(Math.round(duration * (start + width) / ROOM)) : "";
      svg.setAttribute("data-zoom", by.toFixed(2));
    };
    const cells = svg.querySelector("g.allocations"), info = svg.closest("figure").querySelector(".info");
    let known = null, chosen = null;
    const choose = (event) => {
      const g = event.target.closest("g.bands g.b"), box = svg.getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width * WIDTH, y = (event.clientY - box.top) / box.height *
            svg.viewBox.baseVal.height;
      known = known || readAllocations(svg, cells);
      const item = g && known.find(g.getAttribute("data-d"), LEFT + start + (x - LEFT) * width / ROOM,
        above + y * tall / foot);
      chosen = chosen || zoomed.appendChild(shape("path", { class: "chosen" }));
      chosen.setAttribute("d", item ? known.outline(item) : "M0 0");
      if (item) info.textContent = known.tell(item);
    };
    if (cells) for (const kind of ["pointermove", "pointerover", "click"]) svg.addEventListener(kind, choose);
    // of the drawing's height
    const heightOf = (pixels) => pixels / svg.getBoundingClientRect().height * svg.viewBox.baseVal.height;
    // with a pointer both ways, as large as it is there
    const zoomAt = (factor, share, clientY) => {
      const next = Math.min(Math.max(width / factor, ROOM / 1000), ROOM);
      const nextTall = clientY === undefined ? tall : Math.min(Math.max(tall / factor, foot / 1000), foot);
      const down = clientY === undefined ? 0
            : Math.min(Math.max(heightOf(clientY - svg.getBoundingClientRect().top) / foot, 0), 1);
      show(start + (width - next) * share, next, above + (tall - nextTall) * down, nextTall);
    };
    const deeds = {
      "Zoom in": () => zoomAt(2, 0.5), "Zoom out": () => zoomAt(0.5, 0.5), "Left": () => show(start - width / 3, width),
            "Right": () => show(start + width / 3, width), "Reset zoom": () => show(0, ROOM, 0, foot),
    };
    const told = steer(svg, deeds);
    followPointer(svg, (x) => {
      const box = svg.getBoundingClientRect();
      return Math.min(Math.max(((x - box.left) / box.width * WIDTH - LEFT) / ROOM, 0), 1);
    }, zoomAt, (by, from, down) => {
      const at = from === null ? [start, above] : from;
      show(at[0] + by * width, width, at[1] + heightOf(down) * tall / foot, tall);
      return at;
    });
  };
  for (const svg of all("svg.curve")) makeCurve(svg);

  // ---- where a finding stands in time: one choice for all pictures that tell it ----

  const marked = all("svg.chart").filter((svg) => svg.querySelector("g.marks"));
  const choices = [];
  const choose = (rank) => {
    for (const svg of marked) {
      for (const marks of all("g.marks, :scope > .findmark", svg))
        marks.classList.toggle("hidden", rank === "" ? marks.localName === "g" : marks.getAttribute("data-d") !== rank);
      const marks = rank && svg.querySelector(`g.marks[data-d="${rank}"]`);
      if (marks && svg.look) svg.look(marks);
    }
    for (const choice of choices) choice.value = all("option", choice).some((option) => option.value === rank) ? rank : "";
  };
  const inTime = new Set(marked.flatMap((svg) => all("g.marks", svg)).map((marks) => marks.getAttribute("data-d")));
  for (const svg of marked) {
    const choice = make("select", "", { "aria-label": "Mark a finding in this picture" });
    choice.append(make("option", "Mark a finding", { value: "" }));
    all(".card h3").forEach((title, at) => {
      const option = make("option", title.textContent, { value: String(at + 1) });
      if (!inTime.has(option.value)) {
        option.disabled = true;
        option.textContent += " (no place to show)";
      }
      choice.append(option);
    });
    const before = svg.parentElement.previousElementSibling;
    const tools = before && before.classList.contains("tools") ? before : make("p", "", { class: "tools" });
    tools.append(choice);
    if (tools !== before) svg.parentElement.before(tools);
    choices.push(choice);
    choice.addEventListener("change", () => choose(choice.value));
  }
  for (const link of all(".card .views a"))
    link.addEventListener("click", () => choose(link.closest(".card").id.replace("finding-", "")));

  // ---- sections ----

  const sections = all("section.s > details");
  const nav = document.querySelector("nav");
  if (nav && sections.length) {
    const button = make("button", "Open all details", { type: "button" });
    nav.appendChild(button);
    button.addEventListener("click", () => {
      const open = sections.some((section) => !section.open);
      for (const section of sections) section.open = open;
      button.textContent = open ? "Close all details" : "Open all details";
    });
  }
  const openTarget = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const details = target && target.querySelector(":scope > details");
    if (!details) return;
    details.open = true;
    target.scrollIntoView();
  };
  window.addEventListener("hashchange", openTarget);
  // the same link again: the address does not change
  for (const link of all("a[href^='#']")) link.addEventListener("click", () => setTimeout(openTarget));
  openTarget();

  // ---- where the reader is, in the contents ----

  const places = all("nav a").map((link) => ({ link, target: document.getElementById(link.getAttribute("href").slice(1)) }));
  const mark = () => {
    const passed = places.filter((place) => place.target && place.target.getBoundingClientRect().top < 140);
    const here = passed.sort((a, b) => b.target.getBoundingClientRect().top - a.target.getBoundingClientRect().top)[0];
    for (const place of places) {
      if (place === here) place.link.setAttribute("aria-current", "true");
      else place.link.removeAttribute("aria-current");
    }
  };
  let waits = false;
  window.addEventListener("scroll", () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => { waits = false; mark(); });
  }, { passive: true });

  // ---- commands and code, to be copied ----

  const copy = (text) => {
    if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
    const area = make("textarea", "", { readonly: "" });
    area.value = text;
    document.body.appendChild(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done ? Promise.resolve() : Promise.reject(new Error("not copied"));
  };
  for (const code of all("pre > code")) {
    const button = make("button", "Copy", { type: "button", class: "copy" });
    code.parentElement.before(button);
    button.addEventListener("click", () => copy(code.textContent.replace(/\n$/, "")).then(
      () => { button.textContent = "Copied"; }, () => { button.textContent = "Not copied"; }));
  }

  document.documentElement.setAttribute("data-script", "on");
})();
