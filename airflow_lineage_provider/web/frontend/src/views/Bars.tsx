import { barsOf, type DrawnView } from "linked-bars";
import { useEffect, useLayoutEffect, useRef } from "react";

import type { LinkedView } from "../api";

interface Props {
  view: LinkedView;
  counts: Uint32Array;
  chosen: number[] | null;
  brush: (chosen: Set<number> | null) => void;
  /** Where a bar is explained, if it is. */
  why: (bar: number) => string | undefined;
}

/** The bars of one view, as pages of linked views have them. */
export function Bars({ view, counts, chosen, brush, why }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const drawn = useRef<{ view: DrawnView; redraw: () => void }>(undefined);
  const doing = useRef({ brush, why });
  useLayoutEffect(() => {
    doing.current = { brush, why };
  });
  useEffect(() => {
    const place = box.current!;
    const ends = new AbortController();
    const most = view.totals.reduce((a, b) => Math.max(a, b), 1);
    const { name, labels, totals, axis } = view;
    const one: DrawnView = { name, labels, totals, axis, most, counts: Uint32Array.from(totals), chosen: null };
    const link = (bar: number) => {
      const href = doing.current.why(bar);
      return href === undefined ? null : whyLink(href, `Why? ${view.labels[bar]} of ${view.name}`);
    };
    drawn.current = { view: one, redraw: barsOf(one, place, { brush: (next) => doing.current.brush(next), why: link, signal: ends.signal }) };
    return () => {
      ends.abort();
      place.replaceChildren();
    };
  }, [view]);
  useEffect(() => {
    if (!drawn.current) return;
    Object.assign(drawn.current.view, { counts, chosen: chosen && new Set(chosen) });
    drawn.current.redraw();
  }, [view, counts, chosen]);
  return <div ref={box} />;
}

function whyLink(href: string, label: string): HTMLElement {
  const made = document.createElement("a");
  Object.assign(made, { href, textContent: "Why?" });
  made.setAttribute("aria-label", label);
  return made;
}
