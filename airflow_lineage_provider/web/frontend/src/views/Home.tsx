import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { Trouble, Waiting } from "../Trouble";
import { RunTable } from "../RunTable";
import { api } from "../api";
import { become, useView } from "../place";
import { useRuns } from "../useRuns";
import { size } from "../words";
import { Hits, StoredAnswers } from "./Found";
import { Questions } from "./Questions";

const SETTLED_MS = 300;

/** What is typed, when nothing more has been typed for a while: each letter would be three questions. */
function useSettled(typed: string): string {
  const [settled, setSettled] = useState(typed);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(typed), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return settled;
}

/** Navigation: all runs that a person may see, to be searched. */
export function Home() {
  const search = useView()["search"] ?? "";
  const wanted = useSettled(search);
  const found = useRuns({ search: wanted });
  const store = useQuery({ queryKey: ["store"], queryFn: ({ signal }) => api.store(signal) });
  return (
    <>
      <h1>Lineage</h1>
      {store.data && (
        <p className="note">
          {store.data.bytes !== null && `The results store takes ${size(store.data.bytes)}. `}
          {store.data.retention_days === null ? "Runs stay until somebody drops them." : `Runs are dropped after ${store.data.retention_days} days.`}
        </p>
      )}
      <form role="search" onSubmit={(event) => event.preventDefault()}>
        <label htmlFor="search">Search runs and answers by pipeline, DAG, task or id, answers by what was asked; tables and columns by name</label>
        <input id="search" type="search" value={search} maxLength={200} onChange={(event) => become({ search: event.target.value })} />
      </form>
      {!wanted.trim() && <Questions />}
      {found.error && <Trouble error={found.error} />}
      {found.isPending && <Waiting what="Looking for runs" />}
      {found.runs.length > 0 && <RunTable runs={found.runs} caption="Runs, newest first" showDag />}
      {found.isSuccess && found.runs.length === 0 && !found.hasNextPage && (
        <p>{search ? "No run that you may see matches." : "There is no run that you may see."}</p>
      )}
      {found.hasNextPage && (
        <button type="button" onClick={() => void found.fetchNextPage()} disabled={found.isFetchingNextPage}>
          Older runs
        </button>
      )}
      {wanted.trim().length > 1 && <Hits search={wanted.trim()} />}
      <StoredAnswers search={wanted.trim()} />
    </>
  );
}
