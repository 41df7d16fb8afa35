import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { Downloads } from "../Downloads";
import { PlainTable } from "../PlainTable";
import { Trouble, Waiting } from "../Trouble";
import { api, type Brushed } from "../api";
import { count } from "../words";

const PAGE = 50;

/** The table's rows that all brushes leave, page by page. */
export function BrushedRows({ id, brushed }: { id: string; brushed: Brushed }) {
  const [offset, setOffset] = useState(0);
  const page = { offset, limit: PAGE };
  const found = useQuery({
    queryKey: ["brushed rows", id, brushed, page],
    queryFn: ({ signal }) => api.brushedRows(id, brushed, page, signal),
    placeholderData: keepPreviousData,
    gcTime: 0,
  });
  if (found.error) return <Trouble error={found.error} />;
  if (!found.data) return <Waiting what="Reading rows" />;
  const { rows, total } = found.data;
  const last = found.data.offset + rows.length;
  return (
    <section aria-label="Rows under the brushes">
      <h2>{total ? `Rows ${(found.data.offset + 1).toLocaleString("en")} to ${last.toLocaleString("en")} of ${count(total, "row")}` : "No row is left"}</h2>
      {total > 0 && <PlainTable table={found.data} caption="Rows that all brushes leave" />}
      <div className="bar" role="group" aria-label="Pages">
        <button type="button" disabled={offset === 0} onClick={() => setOffset(Math.max(0, offset - PAGE))}>
          Before
        </button>
        <button type="button" disabled={last >= total} onClick={() => setOffset(offset + PAGE)}>
          After
        </button>
        <Downloads
          name={`brushed-${brushed.asked.table}`}
          what="the first 10,000 of these rows"
          file={(form) => api.brushedRowsFile(id, brushed, form)}
          json={() => api.brushedRows(id, brushed, { offset: 0, limit: 10_000 })}
        />
      </div>
    </section>
  );
}
