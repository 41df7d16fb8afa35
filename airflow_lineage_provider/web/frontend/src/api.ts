// The tab's API: relative addresses, and one shape of error.

export interface Run {
  id: string;
  pipeline: string;
  status: string;
  started: string;
  seconds: number | null;
  strategy: string;
  reasons: string;
  rows: number | null;
  stored_bytes: number;
  error: string;
  dag_id: string | null;
  dag_run_id: string | null;
  task_id: string | null;
  map_index: number | null;
  try_number: number | null;
}

export interface Stored {
  name: string;
  kind: string;
  rows: number | null;
  bytes: number;
  because: string;
  in_files: boolean;
}

export interface RunDetails {
  run: Run;
  params: Record<string, unknown>;
  output: string | null;
  timings: Record<string, number>;
  stored: Stored[];
  segments: { number: number; kind: string; operator: string; stored: boolean; because: string }[];
  udfs: string[];
  columns: string[];
  has_result: boolean;
}

export interface Rows {
  columns: { name: string; type: string; masked: boolean }[];
  rows: unknown[][];
  numbers: string[];
  offset: number;
  more: boolean;
  total: number | null;
}

export interface Ask {
  python: string;
  command: string;
}

export interface Explanation {
  asked: string;
  document: unknown;
  page: string | null;
  ask: Ask | null;
}

export interface Derivation {
  id: string;
  asked: string;
  created: string;
  seconds: number | null;
}

export interface ColumnInput {
  source: string | null;
  column: string | null;
  type: string;
  subtype: string;
}

export interface Columns {
  columns: { name: string; type: string; inputs: ColumnInput[] }[];
  rows: ColumnInput[];
}

export interface RowsAsked {
  where: string | null;
  sort: { column: string; descending: boolean }[];
  offset: number;
  limit: number;
}

export type Target = { where: string } | { numbers: string[] };

export class Problem extends Error {
  constructor(
    readonly name: string,
    message: string,
    readonly ask: Ask | null,
  ) {
    super(message);
  }
}

const BASE = "api/v1";

async function answer<T>(path: string, signal: AbortSignal | undefined, body?: unknown): Promise<T> {
  const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  const response = await fetch(`${BASE}/${path}`, { credentials: "same-origin", ...sent, ...(signal ? { signal } : {}) });
  const found: unknown = await response.json().catch(() => undefined);
  if (response.ok) return found as T;
  const error = (found as { error?: { name: string; message: string; ask: Ask | null } } | undefined)?.error;
  if (error) throw new Problem(error.name, error.message, error.ask);
  throw new Problem("NoAnswer", `the server answered ${response.status}`, null);
}

const run = (id: string) => `runs/${encodeURIComponent(id)}`;

export const api = {
  runs: (asked: Record<string, string | undefined>, signal?: AbortSignal) => {
    const given = Object.entries(asked).filter((one): one is [string, string] => Boolean(one[1]));
    return answer<{ runs: Run[]; next: string | null }>(`runs?${new URLSearchParams(given)}`, signal);
  },
  run: (id: string, signal?: AbortSignal) => answer<RunDetails>(run(id), signal),
  rows: (id: string, asked: RowsAsked, signal?: AbortSignal) => answer<Rows>(`${run(id)}/rows`, signal, asked),
  explanation: (id: string, target: Target, form: "json" | "page", signal?: AbortSignal) =>
    answer<Explanation>(`${run(id)}/explanation`, signal, { ...target, form }),
  columns: (id: string, signal?: AbortSignal) => answer<Columns>(`${run(id)}/columns`, signal),
  derivations: (id: string, signal?: AbortSignal) => answer<{ derivations: Derivation[] }>(`${run(id)}/derivations`, signal),
  derivation: (id: string, form: "json" | "page", signal?: AbortSignal) =>
    answer<Explanation>(`derivations/${encodeURIComponent(id)}?form=${form}`, signal),
};
