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
  /** What lineage took of the run; null where the run does not tell. */
  lineage_cost: Cost | null;
}

export interface Cost {
  seconds: number;
  /** Of the rest of the run; null where nothing is left. */
  share: number | null;
  /** There was more, which nobody can tell from the pipeline's own work. */
  at_least: boolean;
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
  sources: { name: string; columns: string[] }[];
  has_result: boolean;
  /** Of a run whose plan could not be recorded, the tables that it read. */
  reads: string[];
}

export interface Rows {
  columns: { name: string; type: string; masked: boolean }[];
  rows: unknown[][];
  numbers: string[];
  offset: number;
  more: boolean;
  total: number | null;
  ask: Ask;
}

export interface Ask {
  python: string;
  command: string | null;
  /** The question as the derivation DAG takes it, where it does. */
  conf?: Conf | null;
}

/** The parameters of a run of the derivation DAG. */
export type Conf = Record<string, unknown>;

/** What a stored answer answers: why rows are as they are, why source rows are not in the result, what they touched. */
export type Question = "explain" | "why_not" | "forward";

export interface Table {
  columns: { name: string; type: string; masked?: boolean }[];
  rows: unknown[][];
}

/** An explanation; or a stored answer to another question. */
export interface Explanation {
  question: Question;
  asked: string;
  tables: string[];
  document: unknown;
  page: string | null;
  /** UDFs whose decisions can be told in letters. */
  letters: string[];
  ask: Ask | null;
  /** Files have so many rows of each table, where one has more. */
  rows_in_files: number | null;
}

/** What an explanation comes as: a document, the page, or the page of letters about a UDF's decisions. */
export type ExplanationForm = "json" | "page" | { letters: string };

export interface Derivation {
  id: string;
  question: Question;
  asked: string;
  created: string;
  seconds: number | null;
  dag_run_id: string | null;
  chunk: { number: number; of: number } | null;
}

/** A task instance that derives: what it is asked is known of runs of the derivation DAG. */
export interface AskedQuestion {
  dag_id: string;
  dag_run_id: string;
  task_id: string;
  map_index: number;
  state: "waiting" | "running" | "failed";
  since: string;
  question: Question | null;
  asked: string;
  run_id: string | null;
  pipeline: string | null;
  /** What it told last of how far it is. */
  stage: string | null;
  chunk: { number: number; of: number } | null;
}

export interface StoredAnswer {
  derivation: Derivation & { run_id: string };
  pipeline: string;
  dag_id: string | null;
  task_id: string | null;
}

export interface Hit {
  kind: "table" | "column";
  name: string;
  table: string;
  way: "reads" | "writes";
  run_id: string;
  pipeline: string;
}

export interface ColumnInput {
  source: string | null;
  column: string | null;
  type: string;
  subtype: string;
  /** The value cannot be told from the result: a hash, a count. */
  masking: boolean;
  udfs: string[];
}

export interface Columns {
  ask: Ask;
  columns: { name: string; type: string; inputs: ColumnInput[] }[];
  rows: ColumnInput[];
}

export interface RowsAsked {
  where: string | null;
  sort: { column: string; descending: boolean }[];
  offset: number;
  limit: number;
  /** For as long as any answer may take; else as long as people wait for a page. */
  longer: boolean;
}

export type Target = { where: string } | { numbers: string[] };

/** Source rows: those that meet a predicate, or one by its place in an explanation, or in a stored one. */
export type SourceRows = { table: string; where: string } | { table: string; behind: Target; row: number } | { table: string; derivation: string; row: number };

export interface Descendants {
  run: Run;
  /** The table that the run read the source rows as; null where it read what another run had made of them. */
  table: string | null;
  /** The run calls UDFs: models decide in it. */
  decides: boolean;
  result: Table & { total: number };
  /** What the rows, and which of them descend from which, are called as files. */
  tables: string[];
  numbers: string[];
  guarantee: { level: string; cause: string };
  ask: Ask;
}

export interface Forward {
  asked: string;
  rows: (Table & { total: number }) | null;
  results: Descendants[];
  /** Which ways could not be followed, and why. */
  remarks: { level: string; cause: string }[];
  /** The answer as a page, where that was asked for. */
  page: string | null;
}

export interface PictureNode {
  id: string;
  kind: "run" | "segment" | "table";
  label: string;
  detail: string;
  parent: string | null;
  segment_kind: string | null;
  kind_name: string;
  stored: boolean;
  rows: number | null;
  status: string | null;
  run_id: string | null;
  task_id: string | null;
  dag_id: string | null;
  dag_run_id: string | null;
  map_index: number | null;
  is_own: boolean;
  withheld: boolean;
}

export interface Picture {
  /** How the same is asked elsewhere. */
  ask: Ask;
  nodes: PictureNode[];
  edges: { source: string; target: string }[];
  problems: string[];
}

/** A view of a table: an expression of DuckDB's SQL over a row, or a run that read the table. */
export type ViewAsked = { name: string; expression: string } | { name: string; run: string };

export interface ViewsAsked {
  table: string;
  views: ViewAsked[];
}

/** Shares of the width: where bars begin that are numbers or points in time, how wide they are at most, and ticks. */
export interface Axis {
  left: number[];
  wide: number;
  ticks: [number, string][];
}

export interface LinkedView {
  name: string;
  expression: string;
  labels: string[];
  totals: number[];
  axis: Axis | null;
  /** The run whose rows the bars are, and the numbers of these: a bar beyond them has the rows that are in none. */
  run: string | null;
  numbers: string[];
}

export interface LinkedViews {
  table: string;
  rows: number;
  /** Names these views, for who brushes them. */
  made: string;
  views: LinkedView[];
  ask: Ask;
}

/** Of each view the bars that are brushed, or null where it has no brush. */
export type Brushes = (number[] | null)[];

export interface Brushed {
  asked: ViewsAsked;
  made: string;
  brushes: Brushes;
}

export interface BrushedRows extends Table {
  offset: number;
  total: number;
}

/** What a table of an answer can be saved as. */
export type FileForm = "csv" | "arrow";

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
/** Airflow's own API, asked as the person who is logged in. */
const AIRFLOW = "../../../api/v2";

async function answer<T>(path: string, signal: AbortSignal | undefined, body?: unknown): Promise<T> {
  const response = await sent(path, signal, body);
  if (response.ok) return (await response.json()) as T;
  throw await problem(response);
}

async function file(path: string, form: FileForm, body?: unknown): Promise<Blob> {
  const response = await sent(`${path}${path.includes("?") ? "&" : "?"}format=${form}`, undefined, body);
  if (response.ok) return response.blob();
  throw await problem(response);
}

function sent(path: string, signal: AbortSignal | undefined, body: unknown): Promise<Response> {
  const asked = body === undefined ? {} : { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  return fetch(`${BASE}/${path}`, { credentials: "same-origin", ...asked, ...(signal ? { signal } : {}) });
}

async function problem(response: Response): Promise<Problem> {
  const found: unknown = await response.json().catch(() => undefined);
  const { error, detail } = (found ?? {}) as { error?: { name: string; message: string; ask: Ask | null }; detail?: unknown };
  if (detail !== undefined) return new Problem("Airflow", `Airflow refuses it: ${typeof detail === "string" ? detail : JSON.stringify(detail)}`, null);
  if (error) return new Problem(error.name, error.message, error.ask);
  return new Problem("NoAnswer", `the server answered ${response.status}`, null);
}

async function numbers(path: string, body: unknown): Promise<Uint32Array> {
  const response = await sent(path, undefined, body);
  if (!response.ok) throw await problem(response);
  const read = new DataView(await response.arrayBuffer());
  return Uint32Array.from({ length: read.byteLength / 4 }, (_, at) => read.getUint32(4 * at, true));
}

/** What is asked for in an address: nothing of what is not said. */
function wished(asked: Record<string, string | undefined>): URLSearchParams {
  return new URLSearchParams(Object.entries(asked).filter((one): one is [string, string] => Boolean(one[1])));
}

/** What is searched for is in no address: it may be data. */
function searched<T>(path: string, { search, ...asked }: Record<string, string | undefined>, signal?: AbortSignal): Promise<T> {
  return answer<T>(`${path}?${wished(asked)}`, signal, search ? { search } : undefined);
}

const run = (id: string) => `runs/${encodeURIComponent(id)}`;

function wanted(form: ExplanationForm): Record<string, string> {
  return typeof form === "string" ? { form } : { form: "letters", udf: form.letters };
}

export const api = {
  runs: (asked: Record<string, string | undefined>, signal?: AbortSignal) => searched<{ runs: Run[]; next: string | null }>("runs", asked, signal),
  derivationDag: (signal?: AbortSignal) => answer<{ dag_id: string; state: "ready" | "missing" | "paused" | "not_permitted"; message: string }>("derivation-dag", signal),
  trigger: (dagId: string, conf: Conf) =>
    answer<{ dag_run_id: string }>(`${AIRFLOW}/dags/${encodeURIComponent(dagId)}/dagRuns`, undefined, { logical_date: null, conf }),
  dagRun: (dagId: string, id: string, signal?: AbortSignal) =>
    answer<{ state: string }>(`${AIRFLOW}/dags/${encodeURIComponent(dagId)}/dagRuns/${encodeURIComponent(id)}`, signal),
  found: (search: string, before: string | undefined, signal?: AbortSignal) =>
    searched<{ hits: Hit[]; more: boolean; next: string | null }>("found", { search, before }, signal),
  storedAnswers: (asked: { search?: string; dag_id?: string; before?: string | undefined }, signal?: AbortSignal) =>
    searched<{ derivations: StoredAnswer[]; next: string | null }>("derivations", asked, signal),
  questions: (asked: { dag_id?: string; dag_run_id?: string }, signal?: AbortSignal) => answer<{ questions: AskedQuestion[]; more: boolean }>(`questions?${wished(asked)}`, signal),
  store: (signal?: AbortSignal) => answer<{ bytes: number | null; retention_days: number | null }>("store", signal),
  picture: (dagId: string, dagRunId: string, signal?: AbortSignal) =>
    answer<Picture>(`picture?${new URLSearchParams({ dag_id: dagId, dag_run_id: dagRunId })}`, signal),
  run: (id: string, signal?: AbortSignal) => answer<RunDetails>(run(id), signal),
  rows: (id: string, asked: RowsAsked, signal?: AbortSignal) => answer<Rows>(`${run(id)}/rows`, signal, asked),
  explanation: (id: string, target: Target, form: ExplanationForm, signal?: AbortSignal) =>
    answer<Explanation>(`${run(id)}/explanation`, signal, { ...target, ...wanted(form) }),
  rowsFile: (id: string, asked: RowsAsked, form: FileForm) => file(`${run(id)}/rows`, form, asked),
  explanationFile: (id: string, target: Target, table: string, form: FileForm) => file(`${run(id)}/explanation`, form, { ...target, table }),
  forward: (id: string, asked: SourceRows, signal?: AbortSignal) => answer<Forward>(`${run(id)}/forward`, signal, asked),
  impact: (id: string, asked: SourceRows, signal?: AbortSignal) => answer<Forward>(`${run(id)}/forward`, signal, { ...asked, across: true }),
  forwardPage: (id: string, asked: SourceRows & { across: boolean }) => answer<Forward>(`${run(id)}/forward`, undefined, { ...asked, form: "page" }),
  forwardFile: (id: string, asked: SourceRows & { across: boolean; saved: string }, form: FileForm) => file(`${run(id)}/forward`, form, asked),
  whyNot: (id: string, asked: SourceRows, signal?: AbortSignal) => answer<{ found: Forward }>(`${run(id)}/why-not`, signal, asked),
  viewsOffered: (id: string, table: string, signal?: AbortSignal) =>
    answer<{ table: string; rows: number; columns: string[]; runs: Run[] }>(`${run(id)}/crossfilter?${new URLSearchParams({ table })}`, signal),
  linkedViews: (id: string, asked: ViewsAsked, signal?: AbortSignal) => answer<LinkedViews>(`${run(id)}/crossfilter`, signal, asked),
  /** How many rows all brushes leave, and then each bar of each view. */
  brushedCounts: (id: string, { asked, ...brushed }: Brushed) => numbers(`${run(id)}/crossfilter/counts`, { ...asked, ...brushed }),
  brushedRows: (id: string, { asked, ...brushed }: Brushed, page: { offset: number; limit: number }, signal?: AbortSignal) =>
    answer<BrushedRows>(`${run(id)}/crossfilter/rows`, signal, { ...asked, ...brushed, ...page }),
  brushedRowsFile: (id: string, { asked, ...brushed }: Brushed, form: FileForm) =>
    file(`${run(id)}/crossfilter/rows`, form, { ...asked, ...brushed, limit: 10_000 }),
  columns: (id: string, across: boolean, signal?: AbortSignal) => answer<Columns>(`${run(id)}/columns?across=${across}`, signal),
  columnsFile: (id: string, across: boolean, form: FileForm) => file(`${run(id)}/columns?across=${across}`, form),
  derivations: (id: string, signal?: AbortSignal) => answer<{ derivations: Derivation[] }>(`${run(id)}/derivations`, signal),
  derivation: (id: string, form: ExplanationForm, signal?: AbortSignal) =>
    answer<Explanation>(`derivations/${encodeURIComponent(id)}?${new URLSearchParams(wanted(form))}`, signal),
  /** So many of the first source rows of a stored explanation. */
  derivationSources: (id: string, sources: number, signal?: AbortSignal) => answer<Explanation>(`derivations/${encodeURIComponent(id)}?form=json&sources=${sources}`, signal),
  derivationFile: (id: string, table: string, form: FileForm) =>
    file(`derivations/${encodeURIComponent(id)}?table=${encodeURIComponent(table)}`, form),
};
