import { useQuery } from "@tanstack/react-query";

import { Trouble } from "../Trouble";
import { api } from "../api";
import { hashOf } from "../place";
import { askedText, chunkText, seconds, when } from "../words";

/** Tables and columns by name, in the newest runs of pipelines. */
export function Hits({ search }: { search: string }) {
  const found = useQuery({ queryKey: ["found", search], queryFn: ({ signal }) => api.found(search, signal) });
  if (found.error) return <Trouble error={found.error} />;
  if (!found.data?.hits.length) return null;
  return (
    <>
      <table className="runs">
        <caption>Tables and columns</caption>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Of</th>
            <th scope="col">Pipeline</th>
          </tr>
        </thead>
        <tbody>
          {found.data.hits.map((one, at) => (
            <tr key={at}>
              <th scope="row">
                <a href={hashOf({ run: one.run_id, part: one.way === "writes" ? "columns" : "sources", ...(one.way === "reads" ? { table: one.table } : {}) })}>{one.name}</a>
              </th>
              <td>{one.kind === "column" ? `column of ${one.table}` : "table"}</td>
              <td>
                {one.pipeline} {one.way} it
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {found.data.more && <p className="note">Others match, too: write more of the name.</p>}
    </>
  );
}

/** Answers that were kept, of all runs that a person may see. */
export function StoredAnswers({ search }: { search: string }) {
  const found = useQuery({ queryKey: ["stored answers", search], queryFn: ({ signal }) => api.storedAnswers(search, signal) });
  if (found.error) return <Trouble error={found.error} />;
  if (!found.data?.derivations.length) return null;
  return (
    <table className="runs">
      <caption>Stored answers, newest first</caption>
      <thead>
        <tr>
          <th scope="col">Asked</th>
          <th scope="col">Pipeline</th>
          <th scope="col">When</th>
          <th scope="col" className="n">
            Took
          </th>
        </tr>
      </thead>
      <tbody>
        {found.data.derivations.map(({ derivation, pipeline, dag_id, task_id }) => (
          <tr key={derivation.id}>
            <th scope="row">
              <a href={hashOf({ run: derivation.run_id, part: "answers", answer: derivation.id })}>{askedText(derivation)}</a>
              {chunkText(derivation.chunk)}
            </th>
            <td>{[pipeline, dag_id, task_id].filter(Boolean).join(" · ")}</td>
            <td className="t">{when(derivation.created)}</td>
            <td className="n">{seconds(derivation.seconds)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
