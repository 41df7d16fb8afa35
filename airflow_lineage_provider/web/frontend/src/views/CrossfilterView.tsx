import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { Trouble, Waiting } from "../Trouble";
import { api, type Run, type RunDetails, type ViewAsked } from "../api";
import { become, go, permalink, type View } from "../place";
import { count, when } from "../words";
import { Linked } from "./Linked";

/** Views of a source table that filter one another: which there are stands in the address, what is brushed does not. */
export function CrossfilterView({ details, view }: { details: RunDetails; view: View }) {
  const id = details.run.id;
  const table = view["table"] ?? details.sources[0]?.name ?? "";
  const told = view["views"] ?? "";
  const views = useMemo(() => read(told), [told]);
  const asked = useMemo(() => ({ table, views }), [table, views]);
  const offered = useQuery({ queryKey: ["views offered", id, table], queryFn: ({ signal }) => api.viewsOffered(id, table, signal), enabled: table !== "" });
  const made = useQuery({
    queryKey: ["linked views", id, asked],
    queryFn: ({ signal }) => api.linkedViews(id, asked, signal),
    enabled: views.length > 0 && offered.isSuccess,
  });
  const choose = (next: ViewAsked[]) => become({ run: id, part: "crossfilter", table, views: next.length ? JSON.stringify(next) : "" });
  if (!details.sources.length) return <p>The pipeline reads no table.</p>;
  return (
    <>
      {details.sources.length > 1 && (
        <p>
          <label htmlFor="of">Source table</label>
          <select id="of" value={table} onChange={(event) => go({ run: id, part: "crossfilter", table: event.target.value })}>
            {details.sources.map((one) => (
              <option key={one.name}>{one.name}</option>
            ))}
          </select>
        </p>
      )}
      {offered.isPending && <Waiting what="Looking at the table" />}
      {offered.error && <Trouble error={offered.error} />}
      {offered.data && (
        <>
          <p className="note">
            {count(offered.data.rows, "row")} of {table}, as the run read them. Each view counts the rows that the brushes on the others leave.{" "}
            <a href={permalink(view)}>Link to these views</a>
          </p>
          <Choices columns={offered.data.columns} runs={offered.data.runs} own={id} views={views} choose={choose} />
        </>
      )}
      {views.length > 0 && made.isFetching && <Waiting what="Making the views" />}
      {made.error && <Trouble error={made.error} />}
      {made.data && !made.error && <Linked key={made.data.made} id={id} asked={asked} found={made.data} />}
    </>
  );
}

interface Choosing {
  columns: string[];
  runs: Run[];
  own: string;
  views: ViewAsked[];
  choose: (views: ViewAsked[]) => void;
}

/** What can be a view, to be pressed; and any expression. */
function Choices({ columns, runs, own, views, choose }: Choosing) {
  const [typed, setTyped] = useState("");
  const named = (name: string) => (views.some((one) => one.name === name) ? `${name} (${views.length + 1})` : name);
  const without = (one: ViewAsked) => views.filter((other) => other !== one);
  const toggle = (one: ViewAsked | undefined, added: ViewAsked) => choose(one ? without(one) : [...views, added]);
  const others = views.filter((one) => "expression" in one && !columns.some((name) => quoted(name) === one.expression));
  return (
    <>
      <fieldset className="choices">
        <legend>Columns</legend>
        {columns.map((name) => {
          const chosen = views.find((one) => "expression" in one && one.expression === quoted(name));
          return (
            <button key={name} type="button" aria-pressed={chosen !== undefined} onClick={() => toggle(chosen, { name: named(name), expression: quoted(name) })}>
              {name}
            </button>
          );
        })}
      </fieldset>
      {runs.length > 0 && (
        <fieldset className="choices">
          <legend>Results of runs that read these rows</legend>
          {runs.map((run) => {
            const chosen = views.find((one) => "run" in one && one.run === run.id);
            return (
              <button key={run.id} type="button" aria-pressed={chosen !== undefined} onClick={() => toggle(chosen, { name: named(run.pipeline), run: run.id })}>
                {run.id === own ? "this run" : `${run.pipeline}, ${when(run.started)}`}
              </button>
            );
          })}
        </fieldset>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const expression = typed.trim();
          if (expression) choose([...views, { name: named(expression.slice(0, 100)), expression }]);
          setTyped("");
        }}
      >
        <label htmlFor="expression">Another view: an expression over a row, as DuckDB's SQL says it</label>
        <input id="expression" value={typed} maxLength={2_000} placeholder="floor(delay / 10)" spellCheck={false} autoComplete="off" onChange={(event) => setTyped(event.target.value)} />
        <button type="submit">Add</button>
        {others.map((one) => (
          <button key={one.name} type="button" aria-label={`Remove the view ${one.name}`} onClick={() => choose(without(one))}>
            {one.name} ×
          </button>
        ))}
      </form>
    </>
  );
}

const quoted = (column: string) => `"${column.replaceAll('"', '""')}"`;

function isView(found: unknown): found is ViewAsked {
  const { name, expression, run } = (found ?? {}) as Record<string, unknown>;
  return typeof name === "string" && (typeof expression === "string" || typeof run === "string");
}

/** The views that an address says; none where it says none that can be read. */
function read(told: string): ViewAsked[] {
  try {
    const found: unknown = JSON.parse(told || "[]");
    return Array.isArray(found) && found.every(isView) ? found : [];
  } catch {
    return [];
  }
}
