// The page of linked views: what `linked_bars.js` draws, counted here or by a server.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);

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

  // A bar that is a row of a run's result, which the server can explain.
  function explained(view, bar) {
    if (bar >= (view.explained ?? 0)) return null;
    const made = make("a", "", "Why?");
    Object.assign(made, { href: `explain/${views.indexOf(view)}/${bar}`, target: "_blank", rel: "noreferrer" });
    made.setAttribute("aria-label", `Why? ${view.labels[bar]} of ${view.name}`);
    return made;
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
    const redraw = barsOf(view, box, { brush: (chosen) => brush(view, chosen), why: (bar) => explained(view, bar) });
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
