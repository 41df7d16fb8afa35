// Where a person is: what Airflow's page says stands in the query, and what they look at in the fragment, which no server and no log sees
// (a filter is data). Both together are the permalink.

import { useSyncExternalStore } from "react";

export interface Context {
  dagId: string | undefined;
  dagRunId: string | undefined;
  taskId: string | undefined;
  mapIndex: string | undefined;
}

export function context(): Context {
  const asked = new URLSearchParams(window.location.search);
  const given = (name: string) => {
    const value = asked.get(name);
    return value === null || value === "" || /^\{[A-Z_]+\}$/.test(value) ? undefined : value;
  };
  const taskId = given("task_id");
  return {
    dagId: given("dag_id"),
    dagRunId: given("dag_run_id"),
    taskId,
    // Airflow leaves the place of a map index as it is where a task is not mapped.
    mapIndex: asked.has("map_index") ? (given("map_index") ?? "-1") : undefined,
  };
}

export type View = Record<string, string>;

function subscribe(changed: () => void): () => void {
  window.addEventListener("hashchange", changed);
  return () => window.removeEventListener("hashchange", changed);
}

/** Who had to log in before they saw the page came here without what stood behind the #: it was put aside then (`shell.py`). */
export function comeBack(): void {
  const kept = window.sessionStorage.getItem("lineage tab");
  if (kept === null) return;
  window.sessionStorage.removeItem("lineage tab");
  const [search, hash] = JSON.parse(kept) as [string, string];
  const same = new URLSearchParams(search).toString() === new URLSearchParams(window.location.search).toString();
  if (same && window.location.hash === "") window.history.replaceState(null, "", window.location.pathname + window.location.search + hash);
}

export function useView(): View {
  const hash = useSyncExternalStore(subscribe, () => window.location.hash);
  return Object.fromEntries(new URLSearchParams(hash.slice(1)));
}

export function hashOf(view: View): string {
  const given = Object.entries(view).filter(([, value]) => value !== "");
  return `#${new URLSearchParams(given)}`;
}

export function go(view: View): void {
  window.location.hash = hashOf(view);
}

/** As `go`, with nothing to come back to: while somebody types. */
export function become(view: View): void {
  window.history.replaceState(null, "", hashOf(view));
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

/** Of a run its id says all; else the DAG, DAG run or task that Airflow's page is about belongs to it. */
export function permalink(view: View): string {
  const { origin, pathname, search } = window.location;
  return `${origin}${pathname}${view["run"] ? "" : search}${hashOf(view)}`;
}
