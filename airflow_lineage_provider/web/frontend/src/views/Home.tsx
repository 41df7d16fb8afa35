import { useDeferredValue } from "react";

import { Trouble, Waiting } from "../Trouble";
import { RunTable } from "../RunTable";
import { become, useView } from "../place";
import { useRuns } from "../useRuns";

/** Navigation: all runs that a person may see, to be searched. */
export function Home() {
  const search = useView()["search"] ?? "";
  const found = useRuns({ search: useDeferredValue(search) });
  return (
    <>
      <h1>Lineage</h1>
      <form role="search" onSubmit={(event) => event.preventDefault()}>
        <label htmlFor="search">Search runs by pipeline, DAG, task or id</label>
        <input id="search" type="search" value={search} maxLength={200} onChange={(event) => become({ search: event.target.value })} />
      </form>
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
    </>
  );
}
