import { useState } from "react";

import type { RunDetails } from "../api";
import { Completion } from "../Completion";
import { hashOf, go, type View } from "../place";
import { Followed, type Way } from "./Followed";

/** Any rows of a source table, by a predicate: what they touched, and why they are not in the result. */
export function SourcesView({ details, view }: { details: RunDetails; view: View }) {
  const id = details.run.id;
  const [table, setTable] = useState(view["table"] ?? details.sources[0]?.name ?? "");
  const [where, setWhere] = useState(view["where"] ?? "");
  const ask = (way: Way) => go({ run: id, part: "sources", table, where: where.trim(), ask: way });
  const columns = details.sources.find((one) => one.name === table)?.columns ?? [];
  const way = view["ask"] as Way | undefined;
  if (!details.sources.length) return <p>The pipeline reads no table.</p>;
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          ask("forward");
        }}
      >
        <label htmlFor="table">Source table</label>
        <select id="table" value={table} onChange={(event) => setTable(event.target.value)}>
          {details.sources.map((one) => (
            <option key={one.name}>{one.name}</option>
          ))}
        </select>
        <label htmlFor="rows">Its rows, as Spark's SQL says it</label>
        <input id="rows" list="source-columns" required value={where} maxLength={20_000} spellCheck={false} autoComplete="off" onChange={(event) => setWhere(event.target.value)} />
        <Completion id="source-columns" typed={where} columns={columns} />
        <button type="submit">What did they touch?</button>
        <button type="button" disabled={!where.trim()} onClick={() => ask("impact")}>
          In later runs, too?
        </button>
        <button type="button" disabled={!where.trim()} onClick={() => ask("why-not")}>
          Why are they not in the result?
        </button>
      </form>
      <p className="note">Columns: {columns.join(", ")}</p>
      {way && view["table"] && view["where"] && (
        <Followed id={id} asked={{ table: view["table"], where: view["where"] }} way={way} close={hashOf({ run: id, part: "sources" })} link={view} />
      )}
    </>
  );
}
