import type { Run } from "./api";
import { hashOf } from "./place";
import { STRATEGIES, count, seconds, share, size, when } from "./words";

export function Status({ status }: { status: string }) {
  return <span className={`badge ${status}`}>{status}</span>;
}

/** Runs, newest first; on a narrow screen each is a card. */
export function RunTable({ runs, caption, showDag }: { runs: Run[]; caption: string; showDag: boolean }) {
  return (
    <table className="runs">
      <caption>{caption}</caption>
      <thead>
        <tr>
          <th scope="col">Pipeline</th>
          {showDag && <th scope="col">DAG and task</th>}
          <th scope="col">Status</th>
          <th scope="col">Started</th>
          <th scope="col" className="n">
            Took
          </th>
          <th scope="col" className="n">
            Lineage
          </th>
          <th scope="col" className="n">
            Rows
          </th>
          <th scope="col">Stores</th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => (
          <tr key={run.id}>
            <th scope="row">
              <a href={hashOf({ run: run.id })}>{run.pipeline}</a>
              {!showDag && run.map_index !== null && run.map_index >= 0 && <span className="note"> map {run.map_index}</span>}
            </th>
            {showDag && <td>{run.dag_id ? `${run.dag_id} · ${run.task_id ?? ""}` : <span className="note">no DAG</span>}</td>}
            <td>
              <Status status={run.status} />
              {run.error && <span className="note error"> {run.error.slice(0, 200)}</span>}
            </td>
            <td className="t">{when(run.started)}</td>
            <td className="n">{seconds(run.seconds)}</td>
            <td className="n" title="Of what the pipeline itself took">
              {share(run.lineage_cost)}
            </td>
            <td className="n">{run.rows === null ? "–" : count(run.rows, "row")}</td>
            <td>
              {STRATEGIES[run.strategy] ?? run.strategy}, {size(run.stored_bytes)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
