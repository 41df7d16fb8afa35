"use strict";
(() => {
  const FEW = 60; // more bars than this are drawn as one picture, with a range to brush
  const data = JSON.parse(document.getElementById("data").textContent);
  const number = (value) => value.toLocaleString("en");
  const make = (tag, className, text) => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };

  // Of each view: how many rows each bar has, how many the other brushes leave, and which bars are brushed (null: all).
  const views = data.views.map((view) => {
    const bars = view.labels.length;
    const codes = view.codes === undefined ? null : decoded(view);
    const totals = codes ? new Uint32Array(bars) : Uint32Array.from(view.totals);
    if (codes) for (const bar of codes) totals[bar]++;
    return { ...view, codes, totals, counts: totals.slice(), chosen: null, inside: new Uint8Array(bars).fill(1), most: totals.reduce((a, b) => Math.max(a, b), 1) };
  });
  const recount = views.every((view) => view.codes) ? countedHere() : countedByServer();
  let selected = data.rows;

  // The bar of each row.
  function decoded(view) {
    const bytes = Uint8Array.from(atob(view.codes), (sign) => sign.charCodeAt(0));
    const read = new DataView(bytes.buffer);
    if (view.bytes === 1) return bytes;
    return Uint32Array.from({ length: data.rows }, (_, row) => (view.bytes === 2 ? read.getUint16(2 * row, true) : read.getUint32(4 * row, true)));
  }

  // Give a view another brush.
  function brush(view, chosen) {
    const inside = new Uint8Array(view.labels.length).fill(chosen ? 0 : 1);
    if (chosen) for (const bar of chosen) inside[bar] = 1;
    const before = view.inside;
    view.inside = inside;
    view.chosen = chosen;
    recount(view, before);
    draw();
  }

  // Only rows of bars that differ change anything, and only in the other views.
  function countedHere() {
    const fails = new Uint8Array(data.rows); // how many views' brushes leave the row out
    return (view, before) => {
      for (let row = 0; row < data.rows; row++) {
        const bar = view.codes[row];
        if (view.inside[bar] === before[bar]) continue;
        const step = view.inside[bar] ? 1 : -1;
        const others = fails[row] - (view.inside[bar] ? 1 : 0); // without this view's brush
        fails[row] -= step;
        if (others === 0) selected += step;
        for (const other of views) {
          if (other === view) continue;
          const code = other.codes[row];
          if (others === (other.inside[code] ? 0 : 1)) other.counts[code] += step;
        }
      }
    };
  }

  const asked = (path) =>
    fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(views.map((view) => view.chosen && [...view.chosen])),
    }).then(async (answer) => {
      if (!answer.ok) throw new Error(await answer.text());
      return answer;
    });
  const tell = (problem) => (document.getElementById("problem").textContent = problem);

  // One question at a time; of the brushes that were made meanwhile the newest is asked about next.
  function countedByServer() {
    let asking = false;
    let moved = false;
    const ask = async () => {
      document.getElementById("rows").hidden = true; // those of the brushes before
      moved = true;
      if (asking) return;
      asking = true;
      try {
        while (moved) {
          moved = false;
          const counts = new Uint32Array(await (await asked("brush")).arrayBuffer());
          let at = 1;
          selected = counts[0];
          for (const view of views) view.counts = counts.subarray(at, (at += view.labels.length));
          tell("");
          draw();
        }
      } catch (problem) {
        tell(`The counts are those of an earlier brush: ${problem.message}`);
      } finally {
        asking = false;
      }
    };
    document.getElementById("show").addEventListener("click", () => showRows().catch((problem) => tell(`No rows: ${problem.message}`)));
    return ask;
  }

  async function showRows() {
    const found = await (await asked("rows")).json();
    const line = (cells, tag) => {
      const made = make("tr");
      made.append(...cells.map((cell) => make(tag, "", cell)));
      return made;
    };
    const [head, body] = [make("thead"), make("tbody")];
    head.append(line(found.columns, "th"));
    body.append(...found.rows.map((row) => line(row, "td")));
    document.querySelector("#rows table").replaceChildren(head, body);
    document.getElementById("rows-title").textContent = `${number(found.rows.length)} of ${number(found.of)} rows`;
    document.getElementById("rows").hidden = false;
    tell("");
  }

  function listed(view, box) {
    const bars = view.labels.map((label, bar) => {
      const made = make("button", "bar");
      made.type = "button";
      const track = make("span", "track");
      const total = make("i", "total");
      const now = make("i", "now");
      total.style.width = `${(100 * view.totals[bar]) / view.most}%`;
      track.append(total, now);
      const count = make("span", "count");
      const name = make("span", "name", label);
      name.title = label;
      made.append(name, track, count);
      made.addEventListener("click", () => {
        const chosen = new Set(view.chosen ?? []);
        if (!chosen.delete(bar)) chosen.add(bar);
        brush(view, chosen.size ? chosen : null);
      });
      return { made, now, count };
    });
    const list = make("div", "bars");
    list.append(...bars.map((bar) => bar.made));
    box.append(list);
    return () => {
      list.classList.toggle("brushed", view.chosen !== null);
      bars.forEach((bar, at) => {
        bar.made.setAttribute("aria-pressed", String(view.chosen !== null && view.inside[at] === 1));
        bar.now.style.width = `${(100 * view.counts[at]) / view.most}%`;
        bar.count.textContent = number(view.counts[at]);
      });
    };
  }

  function pictured(view, box) {
    const canvas = make("canvas");
    canvas.setAttribute("role", "img");
    const last = view.labels.length - 1;
    const ends = make("div", "ends");
    const inputs = ["From", "To"].map((word, which) => {
      const label = make("label", "", `${word} `);
      const shown = make("output");
      const input = make("input");
      Object.assign(input, { type: "range", min: "0", max: String(last), value: String(which ? last : 0) });
      label.append(shown, input);
      ends.append(label);
      input.addEventListener("input", () => between(Number(inputs[0].input.value), Number(inputs[1].input.value)));
      return { input, shown };
    });
    box.append(canvas, ends);
    function between(one, other) {
      const [first, end] = [Math.min(one, other), Math.max(one, other)];
      brush(view, first === 0 && end === last ? null : new Set(Array.from({ length: end - first + 1 }, (_, at) => first + at)));
      [first, end].forEach((bar, which) => (inputs[which].input.value = String(bar)));
    }
    const barAt = (event) => {
      const place = canvas.getBoundingClientRect();
      return Math.max(0, Math.min(last, Math.floor(((event.clientX - place.left) / place.width) * (last + 1))));
    };
    let held = null;
    canvas.addEventListener("pointerdown", (event) => {
      held = barAt(event);
      canvas.setPointerCapture(event.pointerId);
      between(held, held);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (held !== null) between(held, barAt(event));
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (held = null));
    const paint = () => {
      const scale = window.devicePixelRatio || 1;
      canvas.width = Math.max(1, Math.round(canvas.clientWidth * scale));
      canvas.height = Math.max(1, Math.round(canvas.clientHeight * scale));
      const pen = canvas.getContext("2d");
      const style = getComputedStyle(document.documentElement);
      const [full, rest] = [style.getPropertyValue("--bar"), style.getPropertyValue("--rest")];
      const wide = canvas.width / (last + 1);
      // Where bars are thinner than a point of the screen, the highest of those in a point is drawn.
      for (const [counts, colour] of [[view.totals, () => rest], [view.counts, (bar) => (view.inside[bar] ? full : rest)]])
        for (let bar = 0; bar <= last; bar++) {
          const high = counts[bar] ? Math.max(1, (counts[bar] / view.most) * canvas.height) : 0;
          pen.fillStyle = colour(bar);
          pen.fillRect(Math.floor(bar * wide), canvas.height - high, Math.max(1, Math.ceil(wide * 0.85)), high);
        }
    };
    new ResizeObserver(paint).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
    return () => {
      const bars = view.chosen ? [Math.min(...view.chosen), Math.max(...view.chosen)] : [0, last];
      inputs.forEach(({ input, shown }, which) => {
        input.value = String(bars[which]);
        shown.textContent = view.labels[bars[which]];
        input.setAttribute("aria-valuetext", view.labels[bars[which]]);
      });
      const left = view.counts.reduce((a, b) => a + b, 0);
      canvas.setAttribute("aria-label", `${view.name}: ${number(left)} rows in ${number(last + 1)} bars`);
      paint();
    };
  }

  const redraws = views.map((view) => {
    const box = make("section");
    const title = make("h2", "", view.name);
    const about = make("p", "about");
    const clear = make("button", "clear", "Clear");
    clear.type = "button";
    clear.setAttribute("aria-label", `Clear the brush on ${view.name}`);
    clear.addEventListener("click", () => brush(view, null));
    about.append(make("span", "", `${view.expression} · ${number(view.labels.length)} bars`), clear);
    box.append(title, about);
    box.setAttribute("aria-label", view.name);
    document.getElementById("views").append(box);
    const redraw = (view.labels.length > FEW ? pictured : listed)(view, box);
    return () => {
      clear.disabled = view.chosen === null;
      redraw();
    };
  });
  const all = document.getElementById("clear");
  all.addEventListener("click", () => views.forEach((view) => view.chosen && brush(view, null)));
  function draw() {
    document.getElementById("selected").textContent = number(selected);
    all.disabled = views.every((view) => view.chosen === null);
    redraws.forEach((redraw) => redraw());
  }
  draw();
})();
