import { useQuery } from "@tanstack/react-query";

import { Status } from "../RunTable";
import { Trouble, Waiting } from "../Trouble";
import { api, type Cost, type RunDetails } from "../api";
import { go, hashOf, permalink, useView, type View } from "../place";
import { STRATEGIES, count, seconds, share, size, when } from "../words";
import { ColumnsView } from "./ColumnsView";
import { CrossfilterView } from "./CrossfilterView";
import { RowsView } from "./RowsView";
import { SourcesView } from "./SourcesView";
import { StoredView } from "./StoredView";
import { Answers } from "./Answers";

const PARTS = { rows: "Rows", sources: "Source rows", crossfilter: "Crossfilter", columns: "Columns", stored: "What is stored", answers: "Stored answers" } as const;
type Part = keyof typeof PARTS;

/** One run of a pipeline. */
export function RunView({ id, isOnly = false }: { id: string; isOnly?: boolean }) {
  const view: View = { ...useView(), run: id };
  const found = useQuery({ queryKey: ["run", id], queryFn: ({ signal }) => api.run(id, signal) });
  const part: Part = (view["part"] ?? "rows") in PARTS ? ((view["part"] ?? "rows") as Part) : "rows";
  return (
    <>
      {!isOnly && (
        <p className="back">
          <a href={hashOf({})}>All runs</a>
        </p>
      )}
      {found.error && <Trouble error={found.error} />}
      {found.isPending && <Waiting what="Reading the run" />}
      {found.data && (
        <>
          <Header details={found.data} view={view} />
          {found.data.run.status === "complete" && (
            <>
              <nav aria-label="Parts of the run">
                {Object.entries(PARTS).map(([name, title]) => (
                  <a key={name} href={hashOf({ run: id, part: name })} aria-current={name === part ? "page" : undefined}>
                    {title}
                  </a>
                ))}
              </nav>
              {part === "rows" && <RowsView details={found.data} view={view} change={(next) => go({ run: id, ...next })} />}
              {part === "sources" && <SourcesView details={found.data} view={view} />}
              {part === "crossfilter" && <CrossfilterView details={found.data} view={view} />}
              {part === "columns" && <ColumnsView id={id} view={view} />}
              {part === "stored" && <StoredView details={found.data} />}
              {part === "answers" && <Answers id={id} view={view} />}
            </>
          )}
        </>
      )}
    </>
  );
}

function Header({ details, view }: { details: RunDetails; view: View }) {
  const { run } = details;
  const facts: [string, string][] = [
    ["Started", when(run.started)],
    ["Took", seconds(run.seconds)],
    ["Result", run.rows === null ? "–" : count(run.rows, "row")],
    ["Stores", `${STRATEGIES[run.strategy] ?? run.strategy}, ${size(run.stored_bytes)}`],
    ["Lineage took", cost(run.lineage_cost)],
    ["Written to", details.output ?? "–"],
  ];
  if (details.reads.length) facts.push(["Read", details.reads.join(", ")]);
  return (
    <header>
      <h1>
        {run.pipeline} <Status status={run.status} />
      </h1>
      <p className="note">
        {run.dag_id ? `${run.dag_id} · ${run.task_id ?? ""}${run.try_number ? ` · try ${run.try_number}` : ""} · ` : ""}run{" "}
        <a href={permalink(view)}>{run.id}</a>
      </p>
      {run.error && <p className="notice bad">{run.error}</p>}
      <dl>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </header>
  );
}

/** What lineage took beside the pipeline itself, as far as the run's own clock tells. */
function cost(found: Cost | null): string {
  if (found === null) return "not recorded";
  const told = `${found.at_least ? "at least " : ""}${seconds(found.seconds)}`;
  return found.share === null ? told : `${told}, ${share(found).replace("≥ ", "")} of what the pipeline took`;
}
