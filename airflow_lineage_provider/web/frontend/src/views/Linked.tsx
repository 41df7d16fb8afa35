import "linked-bars.css";

import { useEffect, useMemo, useRef, useState } from "react";

import { Lines } from "../Lines";
import { Trouble } from "../Trouble";
import { api, type Brushes, type LinkedView, type LinkedViews, type ViewsAsked } from "../api";
import { hashOf } from "../place";
import { Bars } from "./Bars";
import { BrushedRows } from "./BrushedRows";

interface Props {
  id: string;
  asked: ViewsAsked;
  found: LinkedViews;
}

/** Views that are brushed: the server is told all brushes, and says what they leave. */
export function Linked({ id, asked, found }: Props) {
  const [brushes, setBrushes] = useState<Brushes>(() => found.views.map(() => null));
  const [rowsOf, setRowsOf] = useState<Brushes>();
  const { counts, problem } = useCounts(id, asked, found, brushes);
  const places = useMemo(() => found.views.map((_, at) => 1 + found.views.slice(0, at).reduce((sum, one) => sum + one.labels.length, 0)), [found]);
  const brush = (at: number, chosen: Set<number> | null) =>
    setBrushes((before) => before.map((one, other) => (other === at ? (chosen && [...chosen]) : one)));
  const none = brushes.every((one) => one === null);
  return (
    <>
      <div className="bar">
        <p className="note" role="status">
          {counts[0]!.toLocaleString("en")} of {found.rows.toLocaleString("en")} rows are left by all brushes.
        </p>
        <button type="button" disabled={none} onClick={() => setBrushes(found.views.map(() => null))}>
          Clear all brushes
        </button>
        <button type="button" onClick={() => setRowsOf(brushes)}>
          Show rows
        </button>
      </div>
      {problem != null && <Trouble error={problem} />}
      <div className="linked">
        {found.views.map((view, at) => (
          <section key={view.name} aria-label={view.name}>
            <h2>{view.name}</h2>
            <div className="about">
              <span>
                {view.expression} · {view.labels.length.toLocaleString("en")} bars
              </span>
              <button type="button" className="clear" disabled={brushes[at] === null} aria-label={`Clear the brush on ${view.name}`} onClick={() => brush(at, null)}>
                Clear
              </button>
            </div>
            <Bars
              view={view}
              counts={counts.subarray(places[at], places[at]! + view.labels.length)}
              chosen={brushes[at] ?? null}
              brush={(chosen) => brush(at, chosen)}
              why={(bar) => why(view, bar)}
            />
          </section>
        ))}
      </div>
      {rowsOf === brushes && <BrushedRows id={id} brushed={{ asked, made: found.made, brushes }} />}
      <Lines ask={found.ask} title="The same views in a shell, and in Python:" />
    </>
  );
}

/** The explanation of a bar that is a row of a run's result. */
function why(view: LinkedView, bar: number): string | undefined {
  const number = view.numbers[bar];
  return view.run !== null && number !== undefined ? hashOf({ run: view.run, why: number }) : undefined;
}

/** What brushes leave. One question at a time; of the brushes that were made meanwhile the newest is asked about next. */
function useCounts(id: string, asked: ViewsAsked, found: LinkedViews, brushes: Brushes) {
  const unbrushed = useMemo(() => Uint32Array.from([found.rows, ...found.views.flatMap((one) => one.totals)]), [found]);
  const [counts, setCounts] = useState<Uint32Array>(unbrushed);
  const [problem, setProblem] = useState<unknown>();
  const newest = useRef<Brushes>(undefined);
  const asking = useRef(false);
  useEffect(() => {
    const ask = async () => {
      newest.current = brushes;
      if (asking.current) return;
      asking.current = true;
      try {
        while (newest.current) {
          const now: Brushes = newest.current;
          newest.current = undefined;
          setCounts(now.every((one) => one === null) ? unbrushed : await api.brushedCounts(id, { asked, made: found.made, brushes: now }));
          setProblem(undefined);
        }
      } catch (failed) {
        setProblem(failed); // the counts are those of an earlier brush, and it says so
      } finally {
        asking.current = false;
      }
    };
    void ask();
  }, [id, asked, found, unbrushed, brushes]);
  return { counts, problem };
}
