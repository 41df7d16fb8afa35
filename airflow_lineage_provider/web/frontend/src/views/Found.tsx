import { useInfiniteQuery } from "@tanstack/react-query";

import { Trouble } from "../Trouble";
import { api, type Hit, type StoredAnswer } from "../api";
import { hashOf } from "../place";
import { askedText, chunkText, seconds, when } from "../words";

/** Tables and columns by name, in the newest runs of pipelines. */
export function Hits({ search }: { search: string }) {
  const found = useInfiniteQuery({
    queryKey: ["found", search],
    queryFn: ({ pageParam, signal }) => api.found(search, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  });
  if (found.error) return <Trouble error={found.error} />;
  const hits = found.data?.pages.flatMap((page) => page.hits) ?? [];
  if (!hits.length && !found.hasNextPage) return null;
  return (
    <>
      {hits.length > 0 && <HitTable hits={hits} />}
      {found.data?.pages.some((page) => page.more) && <p className="note">Others match, too: write more of the name.</p>}
      {found.hasNextPage && (
        <p>
          <span className="note">{hits.length ? "Further pipelines were not looked at." : "No table or column of the newest pipelines matches; others were not looked at."}</span>{" "}
          <button type="button" onClick={() => void found.fetchNextPage()} disabled={found.isFetchingNextPage}>
            Look at older pipelines
          </button>
        </p>
      )}
    </>
  );
}

function HitTable({ hits }: { hits: Hit[] }) {
  return (
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
        {hits.map((one, at) => (
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
  );
}

/** Answers that were kept, of all runs that a person may see: those that a text is about, or those about the runs of a DAG. */
export function StoredAnswers(wanted: { search: string } | { dag_id: string }) {
  const found = useInfiniteQuery({
    queryKey: ["stored answers", wanted],
    queryFn: ({ pageParam, signal }) => api.storedAnswers({ ...wanted, before: pageParam }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  });
  if (found.error) return <Trouble error={found.error} />;
  const answers = found.data?.pages.flatMap((page) => page.derivations) ?? [];
  return (
    <>
      {answers.length > 0 && <AnswerTable answers={answers} />}
      {found.hasNextPage && (
        <button type="button" onClick={() => void found.fetchNextPage()} disabled={found.isFetchingNextPage}>
          Older answers
        </button>
      )}
    </>
  );
}

function AnswerTable({ answers }: { answers: StoredAnswer[] }) {
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
        {answers.map(({ derivation, pipeline, dag_id, task_id }) => (
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
