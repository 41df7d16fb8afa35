import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { Downloads } from "../Downloads";
import { Lines } from "../Lines";
import { Trouble, Waiting } from "../Trouble";
import { api, type ColumnInput, type Columns } from "../api";
import { become, hashOf, permalink, type View } from "../place";

/** Column lineage: what each column of the result is computed from, and what influences it; of a chosen column also how. */
export function ColumnsView({ id, view }: { id: string; view: View }) {
  const across = view["across"] === "1";
  const found = useQuery({ queryKey: ["columns", id, across], queryFn: ({ signal }) => api.columns(id, across, signal), placeholderData: keepPreviousData });
  if (found.error) return <Trouble error={found.error} />;
  if (!found.data) return <Waiting what="Reading the plan" />;
  const here: View = { run: id, part: "columns", across: across ? "1" : "" };
  const chosen = found.data.columns.find((one) => one.name === view["column"]);
  return (
    <>
      <label>
        <input type="checkbox" checked={across} onChange={(event) => become({ ...view, ...here, across: event.target.checked ? "1" : "" })} /> through the runs that wrote what this one read
      </label>
      {chosen && <OneColumn column={chosen} rows={found.data.rows} here={here} />}
      <table className="runs">
        <caption>Where the columns come from</caption>
        <thead>
          <tr>
            <th scope="col">Column</th>
            <th scope="col">Type</th>
            <th scope="col">Computed from</th>
            <th scope="col">Influenced by</th>
          </tr>
        </thead>
        <tbody>
          {found.data.columns.map((one, at) => (
            <tr key={at} className={one === chosen ? "chosen" : undefined}>
              <th scope="row">
                <a href={hashOf({ ...here, column: one.name })} aria-current={one === chosen ? "true" : undefined}>
                  {one.name}
                </a>
              </th>
              <td>{one.type}</td>
              <td>{names(direct(one.inputs))}</td>
              <td>{names([...indirect(one.inputs), ...found.data.rows])}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Downloads name={`columns-${id}`} what="the column lineage" file={(form) => api.columnsFile(id, across, form)} json={() => api.columns(id, across)} />
      <Lines ask={found.data.ask} title="The same in a shell, and in Python:" />
    </>
  );
}

const HOW: Record<string, string> = {
  IDENTITY: "as it is",
  TRANSFORMATION: "in an expression",
  AGGREGATION: "in an aggregate",
  FILTER: "filters rows",
  JOIN: "joins rows",
  GROUP_BY: "groups rows",
  SORT: "orders rows",
  WINDOW: "chooses rows of a window",
  CONDITIONAL: "decides which value is taken",
};

/** One column: each column that it comes from, or that influences it, and in which way. */
function OneColumn({ column, rows, here }: { column: Columns["columns"][number]; rows: ColumnInput[]; here: View }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [column.name]);
  return (
    <section className="answer" aria-label={`Where ${column.name} comes from`}>
      <div className="bar">
        <h2 ref={heading} tabIndex={-1}>
          Where {column.name} comes from
        </h2>
        <a href={permalink({ ...here, column: column.name })}>Link to this</a>
        <a href={hashOf(here)}>Close</a>
      </div>
      <Ways title="Computed from" inputs={direct(column.inputs)} none="Nothing that was read: it is a constant, or made anew." />
      <Ways title="Influenced by" inputs={indirect(column.inputs)} none="Nothing of its own." />
      <Ways title="Which rows there are, and so every column, hangs on" inputs={rows} none="Nothing: every row that was read is there." />
    </section>
  );
}

function Ways({ title, inputs, none }: { title: string; inputs: ColumnInput[]; none: string }) {
  const found = new Map<string, Set<string>>();
  for (const one of inputs) found.set(name(one), (found.get(name(one)) ?? new Set()).add(how(one)));
  return (
    <>
      <h3>{title}</h3>
      {found.size === 0 && <p className="note">{none}</p>}
      <ul>
        {[...found].map(([source, ways]) => (
          <li key={source}>
            <code>{source}</code> <span className="note">{[...ways].join("; ")}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function how(one: ColumnInput): string {
  const told = HOW[one.subtype] ?? one.subtype.toLowerCase();
  return told + (one.udfs.length ? `, through ${one.udfs.join(", then ")}` : "") + (one.masking ? ", of which its values cannot be told" : "");
}

const direct = (inputs: ColumnInput[]) => inputs.filter((one) => one.type === "DIRECT");
const indirect = (inputs: ColumnInput[]) => inputs.filter((one) => one.type !== "DIRECT");
const name = (one: ColumnInput) => `${one.source ?? ""}.${one.column ?? "all rows"}`;

function names(inputs: ColumnInput[]): string {
  return [...new Set(inputs.map(name))].join(", ") || "–";
}
