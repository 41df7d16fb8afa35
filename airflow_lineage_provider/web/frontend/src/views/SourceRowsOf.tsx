import { useQuery } from "@tanstack/react-query";

import { PlainTable } from "../PlainTable";
import { Trouble, Waiting } from "../Trouble";
import type { Explanation, SourceRows, Table } from "../api";
import { hashOf, type View } from "../place";
import { count } from "../words";
import { Followed, type Way } from "./Followed";

export const SHOWN = 50;

interface Props {
  id: string;
  queryKey: unknown[];
  ask: (signal?: AbortSignal) => Promise<Explanation>;
  /** One of its source rows, as it is asked about. */
  one: (table: string, row: number) => SourceRows;
  view: View;
}

/** ``total``: how many rows there are, where not all are sent. */
type Document = { source: Record<string, Table & { total?: number; guarantee: { level: string; cause: string } }> };

/** The source rows of an explanation, each to be followed further. */
export function SourceRowsOf({ id, queryKey, ask: asked, one: rowOf, view }: Props) {
  const { table, row, ask, ...rest } = view;
  const open = view["follow"] === "1" || row !== undefined;
  const found = useQuery<Explanation>({
    queryKey,
    queryFn: ({ signal }) => asked(signal),
    enabled: open,
  });
  if (!open) {
    return (
      <p>
        <a href={hashOf({ ...rest, follow: "1" })}>Follow a source row further</a>: what else it touched, or why it is not elsewhere.
      </p>
    );
  }
  const sources = Object.entries((found.data?.document as Document | undefined)?.source ?? {});
  return (
    <>
      {table && row && (
        <Followed id={id} asked={rowOf(table, Number(row))} way={(ask ?? "forward") as Way} close={hashOf({ ...rest, follow: "1" })} link={view} />
      )}
      <h3>Source rows, to be followed</h3>
      {found.isPending && <Waiting what="Reading the source rows" />}
      {found.error && <Trouble error={found.error} />}
      {sources.map(([name, one]) => (
        <div key={name}>
          <p className="note">
            {name}: {count(one.total ?? one.rows.length, "row")}
            {(one.total ?? one.rows.length) > SHOWN && `, of which the first ${SHOWN} are shown`}
            {one.guarantee.cause && `; ${one.guarantee.cause}`}
          </p>
          {one.rows.length > 0 && (
            <PlainTable
              table={{ columns: one.columns, rows: one.rows.slice(0, SHOWN) }}
              caption={`Source rows of ${name}`}
              actions={(at) => <Ask name={name} at={at} rest={rest} />}
            />
          )}
        </div>
      ))}
    </>
  );
}

function Ask({ name, at, rest }: { name: string; at: number; rest: View }) {
  const to = (ask: Way) => hashOf({ ...rest, follow: "1", table: name, row: String(at), ask });
  return (
    <>
      <a href={to("forward")} aria-label={`What else? Row ${at + 1} of ${name}`}>
        What else?
      </a>{" "}
      <a href={to("impact")} aria-label={`Impact: row ${at + 1} of ${name}`}>
        Impact
      </a>{" "}
      <a href={to("why-not")} aria-label={`Why not? Row ${at + 1} of ${name}`}>
        Why not?
      </a>
    </>
  );
}
