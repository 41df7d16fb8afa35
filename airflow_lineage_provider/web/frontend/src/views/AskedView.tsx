import { useQuery } from "@tanstack/react-query";

import { Trouble, Waiting } from "../Trouble";
import { api, type Derivation } from "../api";
import { hashOf } from "../place";
import { count } from "../words";

const ENDED = ["success", "failed"];

/** A question that Spark is answering: how far it is, and what there is of the answer. */
export function AskedView({ id, dagId, dagRunId }: { id: string; dagId: string; dagRunId: string }) {
  const run = useQuery({
    queryKey: ["dag run", dagId, dagRunId],
    queryFn: ({ signal }) => api.dagRun(dagId, dagRunId, signal),
    staleTime: 0,
    refetchInterval: (query) => (query.state.error || ENDED.includes(query.state.data?.state ?? "") ? false : 2_000),
  });
  const state = run.data?.state;
  const ended = ENDED.includes(state ?? "");
  const stored = useQuery({
    queryKey: ["derivations", id, dagRunId, ended],
    queryFn: ({ signal }) => api.derivations(id, signal),
    enabled: run.isSuccess,
    refetchInterval: ended ? false : 5_000,
  });
  const told = useQuery({
    queryKey: ["questions", dagId, dagRunId],
    queryFn: ({ signal }) => api.questions({ dag_id: dagId, dag_run_id: dagRunId }, signal),
    enabled: run.isSuccess && !ended,
    staleTime: 0,
    refetchInterval: ended ? false : 2_000,
  });
  const stage = told.data?.questions.find((one) => one.stage)?.stage;
  const mine = stored.data?.derivations.filter((one) => one.dag_run_id === dagRunId) ?? [];
  if (run.error) return <Trouble error={run.error} />;
  return (
    <section className="answer" aria-label="A question to Spark">
      <h2>A question to Spark</h2>
      <p role="status">
        DAG run {dagRunId} of {dagId}: <span className={`badge ${state === "success" ? "complete" : state === "failed" ? "failed" : "running"}`}>{state ?? "…"}</span>
      </p>
      {!ended && <Waiting what={state === "queued" ? "Waiting for its turn" : (stage ?? "Deriving")} />}
      {state === "failed" && <p>It failed: the log of its task derive says why.{mine.length > 0 && " Tried again, it goes on with what is stored."}</p>}
      {mine.length > 0 && <Stored id={id} found={mine} />}
      {ended && state === "success" && stored.isSuccess && !mine.length && <p>Its answer is not among the newest that are stored.</p>}
    </section>
  );
}

/** What is stored of an answer: the whole, or its chunks so far, which come in the order of the result's rows. */
function Stored({ id, found }: { id: string; found: Derivation[] }) {
  const last = found[0]?.chunk;
  if (!last || last.of === 1) return <a href={hashOf({ run: id, part: "answers", answer: found[0]!.id })}>Open the answer</a>;
  return (
    <>
      <p>
        <label>
          {last.number.toLocaleString("en")} of {count(last.of, "chunk")} stored <progress max={last.of} value={last.number} />
        </label>
      </p>
      <ol>
        {[...found].reverse().map((one) => (
          <li key={one.id}>
            <a href={hashOf({ run: id, part: "answers", answer: one.id })}>{one.asked || one.id}</a>
          </li>
        ))}
      </ol>
      {found.length < last.number && <p>The newest {count(found.length, "chunk")} of them.</p>}
    </>
  );
}
