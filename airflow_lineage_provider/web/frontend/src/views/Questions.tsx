import { useQuery } from "@tanstack/react-query";

import { Trouble } from "../Trouble";
import { api, type AskedQuestion } from "../api";
import { hashOf } from "../place";
import { askedText, chunkText, when } from "../words";

/** Questions that tasks are answering: those that wait, those that run, those that failed of late. Nothing where there are none. */
export function Questions({ dagId }: { dagId?: string }) {
  const found = useQuery({
    queryKey: ["questions", dagId],
    queryFn: ({ signal }) => api.questions(dagId ? { dag_id: dagId } : {}, signal),
    staleTime: 0,
    refetchInterval: (query) => (query.state.data?.questions.some((one) => one.state !== "failed") ? 5_000 : false),
  });
  if (found.error) return <Trouble error={found.error} />;
  if (!found.data?.questions.length) return null;
  return (
    <>
      <table className="runs">
        <caption>Questions that are being answered</caption>
        <thead>
          <tr>
            <th scope="col">Asked</th>
            <th scope="col">By</th>
            <th scope="col">State</th>
            <th scope="col">Since</th>
          </tr>
        </thead>
        <tbody>
          {found.data.questions.map((one) => (
            <tr key={`${one.dag_id} ${one.dag_run_id} ${one.task_id} ${one.map_index}`}>
              <th scope="row">
                <Asked one={one} />
              </th>
              <td>{`${one.dag_id} · ${one.task_id}${one.map_index < 0 ? "" : ` · map ${one.map_index}`} · ${one.dag_run_id}`}</td>
              <td>
                <span className={`badge ${one.state}`}>{one.state}</span> {one.stage && one.state === "running" && <span className="note">{one.stage}</span>}
                {one.state === "failed" && <span className="note">the log of the task says why</span>}
              </td>
              <td className="t">{when(one.since)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {found.data.more && <p className="note">These are the newest; there may be others.</p>}
    </>
  );
}

/** What is asked, where it is known; opened, it says how far it is. */
function Asked({ one }: { one: AskedQuestion }) {
  if (!one.run_id) return <>A derivation</>;
  const told = `${one.pipeline}: ${askedText({ id: one.dag_run_id, question: one.question ?? "explain", asked: one.asked })}`;
  return (
    <>
      <a href={hashOf({ run: one.run_id, part: "answers", dag: one.dag_id, asked: one.dag_run_id })}>{told}</a>
      {chunkText(one.chunk)}
    </>
  );
}
