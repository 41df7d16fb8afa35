import { Trouble, Waiting } from "../Trouble";
import { RunTable } from "../RunTable";
import type { Run } from "../api";
import type { Context } from "../place";
import { useRuns } from "../useRuns";
import { RunView } from "./RunView";

/** The runs of a DAG, DAG run, task or task instance. A task instance that ran one pipeline is shown at once. */
export function RunsOf({ place }: { place: Context }) {
  const found = useRuns({ dag_id: place.dagId, dag_run_id: place.dagRunId, task_id: place.taskId, map_index: place.mapIndex });
  const only = found.runs[0];
  if (place.taskId && place.dagRunId && found.runs.length === 1 && only) return <RunView id={only.id} isOnly />;
  return (
    <>
      <h1>{[place.dagId, place.taskId].filter(Boolean).join(" · ")}</h1>
      {found.error && <Trouble error={found.error} />}
      {found.isPending && <Waiting what="Looking for runs" />}
      {found.isSuccess && found.runs.length === 0 && <Nothing place={place} />}
      {groups(found.runs).map(([pipeline, runs]) => (
        <RunTable key={pipeline} runs={runs} caption={`${pipeline}: runs, newest first`} showDag={false} />
      ))}
      {found.hasNextPage && (
        <button type="button" onClick={() => void found.fetchNextPage()} disabled={found.isFetchingNextPage}>
          Older runs
        </button>
      )}
    </>
  );
}

function Nothing({ place }: { place: Context }) {
  const what = place.taskId ? "This task" : "This DAG";
  return (
    <p>
      {what} has recorded no lineage that you may see. A task records it with <code>@task.lineage_pyspark</code>, which takes what{" "}
      <code>@task.pyspark</code> takes.
    </p>
  );
}

function groups(runs: Run[]): [string, Run[]][] {
  const found = new Map<string, Run[]>();
  for (const run of runs) found.set(run.pipeline, [...(found.get(run.pipeline) ?? []), run]);
  return [...found];
}
