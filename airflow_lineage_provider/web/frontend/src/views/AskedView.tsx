import { useQuery } from "@tanstack/react-query";

import { Trouble, Waiting } from "../Trouble";
import { api } from "../api";
import { hashOf } from "../place";

const ENDED = ["success", "failed"];

/** A question that Spark is answering: how far it is, and then the answer. */
export function AskedView({ id, dagId, dagRunId }: { id: string; dagId: string; dagRunId: string }) {
  const run = useQuery({
    queryKey: ["dag run", dagId, dagRunId],
    queryFn: ({ signal }) => api.dagRun(dagId, dagRunId, signal),
    staleTime: 0,
    refetchInterval: (query) => (query.state.error || ENDED.includes(query.state.data?.state ?? "") ? false : 2_000),
  });
  const state = run.data?.state;
  const stored = useQuery({ queryKey: ["derivations", id, dagRunId], queryFn: ({ signal }) => api.derivations(id, signal), enabled: state === "success" });
  const answer = stored.data?.derivations.find((one) => one.dag_run_id === dagRunId);
  if (run.error) return <Trouble error={run.error} />;
  return (
    <section className="answer" aria-label="A question to Spark">
      <h2>A question to Spark</h2>
      <p role="status">
        DAG run {dagRunId} of {dagId}: <span className={`badge ${state === "success" ? "complete" : state === "failed" ? "failed" : "running"}`}>{state ?? "…"}</span>
      </p>
      {!ENDED.includes(state ?? "") && <Waiting what={state === "queued" ? "Waiting for its turn" : "Deriving"} />}
      {state === "failed" && <p>It failed: the log of its task derive says why.</p>}
      {answer && <a href={hashOf({ run: id, part: "answers", answer: answer.id })}>Open the answer</a>}
      {stored.isSuccess && !answer && <p>Its answer is not among the newest that are stored.</p>}
    </section>
  );
}
