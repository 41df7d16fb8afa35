import { useMutation, useQuery } from "@tanstack/react-query";

import { api, type Conf } from "./api";
import { go } from "./place";

/** Has the derivation DAG answer what needs Spark: triggered through Airflow's own API, with the rights of who asks. */
export function AskSpark({ conf }: { conf: Conf }) {
  const dag = useQuery({ queryKey: ["derivation dag"], queryFn: ({ signal }) => api.derivationDag(signal), staleTime: 5_000 });
  const asked = useMutation({
    mutationFn: () => api.trigger(dag.data?.dag_id ?? "", conf),
    onSuccess: (found) => go({ run: String(conf["lineage_run_id"]), part: "answers", dag: dag.data?.dag_id ?? "", asked: found.dag_run_id }),
  });
  if (!dag.data) return null;
  if (dag.data.state !== "ready") return <p className="note">{dag.data.message}</p>;
  return (
    <>
      <p>
        <button type="button" disabled={asked.isPending} onClick={() => asked.mutate()}>
          Ask it with Spark
        </button>{" "}
        <span className="note">by the DAG {dag.data.dag_id}; the answer is stored.</span>
      </p>
      {asked.error && <p>{asked.error.message}</p>}
    </>
  );
}
