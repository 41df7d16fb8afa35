import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { Downloads } from "../Downloads";
import { Trouble, Waiting } from "../Trouble";
import { api, type ColumnInput } from "../api";

/** Column lineage: what each column of the result is computed from, and what influences it. */
export function ColumnsView({ id }: { id: string }) {
  const [across, setAcross] = useState(false);
  const found = useQuery({ queryKey: ["columns", id, across], queryFn: ({ signal }) => api.columns(id, across, signal), placeholderData: keepPreviousData });
  if (found.error) return <Trouble error={found.error} />;
  if (!found.data) return <Waiting what="Reading the plan" />;
  const direct = (inputs: ColumnInput[]) => inputs.filter((one) => one.type === "DIRECT");
  const indirect = (inputs: ColumnInput[]) => inputs.filter((one) => one.type !== "DIRECT");
  return (
    <>
      <label>
        <input type="checkbox" checked={across} onChange={(event) => setAcross(event.target.checked)} /> through the runs that wrote what this one read
      </label>
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
            <tr key={at}>
              <th scope="row">{one.name}</th>
              <td>{one.type}</td>
              <td>{names(direct(one.inputs))}</td>
              <td>{names([...indirect(one.inputs), ...found.data.rows])}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Downloads name={`columns-${id}`} what="the column lineage" file={(form) => api.columnsFile(id, across, form)} json={() => api.columns(id, across)} />
    </>
  );
}

function names(inputs: ColumnInput[]): string {
  const told = inputs.map((one) => `${one.source ?? ""}.${one.column ?? "all rows"}`);
  return [...new Set(told)].join(", ") || "–";
}
