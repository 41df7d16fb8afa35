// Bars to be brushed, one view's, with a pointer, by touch or by keyboard: those of pages of linked views, and of the lineage tab.
//
// A view has its `name`, the `labels` of its bars, how many rows each has (`totals`, of which `most` is the largest), how many are left
// (`counts`), and `chosen`: the set of the bars that are brushed, or null. Where bars are numbers or points in time it has an `axis`: shares of
// the width, of where each bar is (`left`, and at most `wide`) and of `ticks` with their texts.

const FEW = 60; // more bars than this are drawn as one picture, with a range to brush
const FEW_ON_AXIS = 12; // the same of bars on an axis
export const number = (value) => value.toLocaleString("en");
export const make = (tag, className, text) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};
const isIn = (view, bar) => view.chosen === null || view.chosen.has(bar);

// Puts a view's bars into a box. `brush` is given the bars that a person chooses, or null; `why` makes what explains a bar, or null where
// nothing does. What listens beyond the box ends with `signal`. Gives a function that draws the view as it is then.
export function barsOf(view, box, { brush, why = () => null, signal }) {
  return view.labels.length > (view.axis ? FEW_ON_AXIS : FEW) ? pictured(view, box, brush, why, signal) : listed(view, box, brush, why);
}

function listed(view, box, brush, why) {
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
      brush(chosen.size ? chosen : null);
    });
    const line = make("div", "line");
    const explained = why(bar);
    line.append(made, ...[explained].filter(Boolean));
    return { made, now, count, line, explained };
  });
  const list = make("div", bars.some((bar) => bar.explained) ? "bars explained" : "bars");
  list.append(...bars.map((bar) => bar.line));
  box.append(list);
  return () => {
    list.classList.toggle("brushed", view.chosen !== null);
    bars.forEach((bar, at) => {
      bar.made.setAttribute("aria-pressed", String(view.chosen !== null && isIn(view, at)));
      bar.now.style.width = `${(100 * view.counts[at]) / view.most}%`;
      bar.count.textContent = number(view.counts[at]);
    });
  };
}

function pictured(view, box, brush, why, signal) {
  const canvas = make("canvas");
  canvas.setAttribute("role", "img");
  const last = view.labels.length - 1;
  const left = view.axis?.left ?? view.labels.map((_, bar) => bar / (last + 1));
  const wide = left.map((begin, bar) => Math.min(view.axis?.wide ?? 1, (left[bar + 1] ?? 1) - begin));
  const ends = make("div", "ends");
  const only = make("p", "only"); // what explains the one bar that is chosen
  const inputs = ["From", "To"].map((word, which) => {
    const label = make("label", "", `${word} `);
    const shown = make("output");
    const input = make("input");
    Object.assign(input, { type: "range", min: "0", max: String(last), value: String(which ? last : 0) });
    input.setAttribute("aria-label", `${word}: ${view.name}`); // a label is of its output
    label.append(shown, input);
    ends.append(label);
    input.addEventListener("input", () => between(Number(inputs[0].input.value), Number(inputs[1].input.value)));
    return { input, shown };
  });
  box.append(canvas, ...(view.axis ? [axis(view.axis.ticks)] : []), ends, only);
  function between(one, other) {
    const [first, end] = [Math.min(one, other), Math.max(one, other)];
    [first, end].forEach((bar, which) => (inputs[which].input.value = String(bar)));
    brush(first === 0 && end === last ? null : new Set(Array.from({ length: end - first + 1 }, (_, at) => first + at)));
  }
  const barAt = (event) => {
    const place = canvas.getBoundingClientRect();
    const at = (event.clientX - place.left) / place.width;
    let [bar, beyond] = [0, last + 1]; // the last one that begins there or before: in a gap the next may be nearer
    while (beyond - bar > 1) {
      const middle = (bar + beyond) >> 1;
      if (left[middle] <= at) bar = middle;
      else beyond = middle;
    }
    return bar < last && at - left[bar] - wide[bar] > left[bar + 1] - at ? bar + 1 : bar;
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
    // Where bars are thinner than a point of the screen, the highest of those in a point is drawn.
    for (const [counts, colour] of [[view.totals, () => rest], [view.counts, (bar) => (isIn(view, bar) ? full : rest)]])
      for (let bar = 0; bar <= last; bar++) {
        const high = counts[bar] ? Math.max(1, (counts[bar] / view.most) * canvas.height) : 0;
        pen.fillStyle = colour(bar);
        pen.fillRect(Math.floor(left[bar] * canvas.width), canvas.height - high, Math.max(1, Math.ceil(wide[bar] * 0.85 * canvas.width)), high);
      }
  };
  new ResizeObserver(paint).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint, { signal });
  window.addEventListener("themechange", paint, { signal });
  return () => {
    const bars = view.chosen ? [Math.min(...view.chosen), Math.max(...view.chosen)] : [0, last];
    inputs.forEach(({ input, shown }, which) => {
      input.value = String(bars[which]);
      shown.textContent = view.labels[bars[which]];
      input.setAttribute("aria-valuetext", view.labels[bars[which]]);
    });
    const rows = view.counts.reduce((a, b) => a + b, 0);
    canvas.setAttribute("aria-label", `${view.name}: ${number(rows)} rows in ${number(last + 1)} bars`);
    only.replaceChildren(...[view.chosen?.size === 1 ? why(bars[0]) : null].filter(Boolean));
    paint();
  };
}

function axis(ticks) {
  const made = make("div", "axis");
  made.setAttribute("aria-hidden", "true"); // the ends of a brush are told
  for (const [at, text] of ticks) {
    const tick = make("span", "", text);
    tick.style.setProperty("--at", `${100 * at}%`); // of the width, and of the text's: at an end it is within
    made.append(tick);
  }
  return made;
}
