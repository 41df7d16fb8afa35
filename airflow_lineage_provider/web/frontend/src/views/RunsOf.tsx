import { Trouble, Waiting } from "../Trouble";
import { RunTable } from "../RunTable";
import type { Run } from "../api";
import { hashOf, permalink, useView, type Context } from "../place";
import { useRuns } from "../useRuns";
import { StoredAnswers } from "./Found";
import { PictureView } from "./PictureView";
import { Questions } from "./Questions";
import { RunView } from "./RunView";

/** The runs of a DAG, DAG run, task or task instance. The run of a task instance that ran one pipeline is shown at once: that of its last try. */
export function RunsOf({ place }: { place: Context }) {
  const found = useRuns({ dag_id: place.dagId, dag_run_id: place.dagRunId, task_id: place.taskId, map_index: place.mapIndex });
  const view = useView();
  const only = place.taskId && place.dagRunId ? lastTry(found.runs) : undefined;
  const ofDagRun = place.dagRunId !== undefined && place.taskId === undefined;
  const drawn = ofDagRun && (view["part"] ?? "picture") === "picture";
  if (only)
    return (
      <>
        <RunView id={only.id} isOnly />
        {found.runs.length > 1 && <RunTable runs={found.runs.slice(1)} caption="Earlier tries, newest first" showDag={false} />}
      </>
    );
  return (
    <>
      <h1>{[place.dagId, place.taskId].filter(Boolean).join(" · ")}</h1>
      {!drawn && (
        <p className="back">
          <a href={permalink(view)}>Link to this</a>
        </p>
      )}
      {ofDagRun && (
        <nav aria-label="Parts of the DAG run">
          <a href={hashOf({ part: "runs" })} aria-current={drawn ? undefined : "page"}>
            Runs
          </a>
          <a href={hashOf({ part: "picture" })} aria-current={drawn ? "page" : undefined}>
            Picture
          </a>
        </nav>
      )}
      {drawn && <PictureView dagId={place.dagId ?? ""} dagRunId={place.dagRunId ?? ""} view={view} />}
      {!drawn && <Runs found={found} place={place} />}
      {place.dagId && !place.dagRunId && !place.taskId && (
        <>
          <Questions dagId={place.dagId} />
          <StoredAnswers dag_id={place.dagId} />
        </>
      )}
    </>
  );
}

function Runs({ found, place }: { found: ReturnType<typeof useRuns>; place: Context }) {
  return (
    <>
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

/** The run of the newest try, where all tries ran one pipeline, once each. */
function lastTry(runs: Run[]): Run | undefined {
  const isPlain = runs.every((run) => run.pipeline === runs[0]?.pipeline) && new Set(runs.map((run) => run.try_number)).size === runs.length;
  return isPlain ? runs[0] : undefined;
}

function groups(runs: Run[]): [string, Run[]][] {
  const found = new Map<string, Run[]>();
  for (const run of runs) found.set(run.pipeline, [...(found.get(run.pipeline) ?? []), run]);
  return [...found];
}
