import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { Completion } from "../Completion";
import { Downloads } from "../Downloads";
import { Lines } from "../Lines";
import { Trouble, Waiting } from "../Trouble";
import { api, Problem, type RunDetails } from "../api";
import { hashOf, type View } from "../place";
import { count } from "../words";
import { Answer } from "./Answer";
import { RowsTable } from "./RowsTable";
import { SourceRowsOf } from "./SourceRowsOf";

const PAGE = 50;
const MOST = 10_000;
const MOST_TOGETHER = 100;

interface Props {
  details: RunDetails;
  view: View;
  change: (view: View) => void;
}

/** The result's rows: a filter, an order, pages, and Why? */
export function RowsView({ details, view, change }: Props) {
  const id = details.run.id;
  const where = view["where"] ?? "";
  const sort = sorted(view["sort"]);
  const offset = Number(view["from"] ?? 0) || 0;
  const why = view["why"];
  const list: View = { where, sort: view["sort"] ?? "", from: view["from"] ?? "" };
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const tick = (number: string) => setTicked((now) => new Set(now.has(number) ? [...now].filter((one) => one !== number) : [...now, number]));
  const [patient, bePatient] = useState("");
  const looked = `${where}\n${view["sort"] ?? ""}`;
  const asked = { where: where || null, sort: sort ? [sort] : [], offset, limit: PAGE, longer: patient === looked };
  const saved = { ...asked, offset: 0, limit: MOST, longer: true };
  const found = useQuery({
    queryKey: ["rows", id, asked],
    queryFn: ({ signal }) => api.rows(id, asked, signal),
    placeholderData: keepPreviousData,
    enabled: details.has_result,
  });
  const target = why === "where" ? { where } : { numbers: (why ?? "").split(",") };
  const answer = why && (
    <Answer
      name={`why-${id}-${why}`}
      queryKey={["explanation", id, target]}
      ask={(form, signal) => api.explanation(id, target, form, signal)}
      file={(table, form) => api.explanationFile(id, target, table, form)}
      close={hashOf({ run: id, ...list })}
      link={view}
    >
      <SourceRowsOf
        id={id}
        queryKey={["explanation", id, target, "json"]}
        ask={(signal) => api.explanation(id, target, "json", signal)}
        one={(table, row) => ({ table, behind: target, row })}
        view={view}
      />
    </Answer>
  );
  if (!details.has_result) {
    // There are no rows to look at; those that one can name are explained all the same, by Spark.
    return (
      <>
        <Filter where={where} columns={details.columns} submit={(next) => change(next ? { where: next, why: "where" } : {})} name="Why these?" />
        {answer || <NotStored id={id} />}
      </>
    );
  }
  return (
    <>
      <Filter where={where} columns={details.columns} submit={(next) => change({ where: next })} />
      {answer}
      {found.error && <Trouble error={found.error} />}
      {!asked.longer && found.error instanceof Problem && found.error.name === "QueryTooSlow" && (
        <button type="button" onClick={() => bePatient(looked)}>
          Look longer
        </button>
      )}
      {found.isPending && <Waiting what="Reading rows" />}
      {found.data && !found.error && (
        <>
          <p className="note" role="status">
            {told(found.data.offset, found.data.rows.length, found.data.more, found.data.total, where)}{" "}
            {where && found.data.rows.length > 0 && <a href={hashOf({ run: id, ...list, why: "where" })}>Why these?</a>}
          </p>
          <Ticked ticked={ticked} href={hashOf({ run: id, ...list, why: [...ticked].join(",") })} clear={() => setTicked(new Set())} />
          <RowsTable
            rows={found.data}
            sort={sort}
            chosen={why}
            setSort={(next) => change({ ...list, from: "", sort: next })}
            addFilter={(term) => change({ where: where ? `(${where}) AND ${term}` : term })}
            whyHref={(number) => hashOf({ run: id, ...list, why: number })}
            columnHref={(column) => hashOf({ run: id, part: "columns", column })}
            ticked={ticked}
            tick={tick}
          />
          <div className="bar" role="group" aria-label="Pages">
            <button type="button" disabled={offset === 0} onClick={() => change({ ...list, from: String(Math.max(0, offset - PAGE)) })}>
              Before
            </button>
            <button type="button" disabled={!found.data.more} onClick={() => change({ ...list, from: String(offset + PAGE) })}>
              After
            </button>
            <Downloads name={`rows-${id}`} what={`the first ${MOST.toLocaleString("en")} of these rows`} file={(form) => api.rowsFile(id, saved, form)} json={() => api.rows(id, saved)} />
          </div>
          <Lines ask={found.data.ask} title="These rows elsewhere, whole:" />
        </>
      )}
    </>
  );
}

/** The rows that were ticked, on whichever page, to be explained together. */
function Ticked({ ticked, href, clear }: { ticked: ReadonlySet<string>; href: string; clear: () => void }) {
  if (!ticked.size) return null;
  return (
    <p className="bar" role="status">
      <span>{count(ticked.size, "row")} ticked.</span>
      {ticked.size <= MOST_TOGETHER ? <a href={href}>Why these {ticked.size}?</a> : <span>No more than {MOST_TOGETHER} are explained together.</span>}
      <button type="button" onClick={clear}>
        Untick
      </button>
    </p>
  );
}

function told(offset: number, rows: number, more: boolean, total: number | null, where: string): string {
  if (rows === 0) return where ? "No row meets this." : "The result has no rows.";
  const shown = `Rows ${(offset + 1).toLocaleString("en")} to ${(offset + rows).toLocaleString("en")}`;
  return total !== null ? `${shown} of ${count(total, "row")}.` : more ? `${shown}, and more follow.` : `${shown}.`;
}

function sorted(text: string | undefined): { column: string; descending: boolean } | undefined {
  if (!text) return undefined;
  return text.startsWith("-") ? { column: text.slice(1), descending: true } : { column: text.slice(1), descending: false };
}

function NotStored({ id }: { id: string }) {
  const found = useQuery({ queryKey: ["rows", id, "none"], queryFn: ({ signal }) => api.rows(id, { where: null, sort: [], offset: 0, limit: 1, longer: false }, signal) });
  return found.error ? <Trouble error={found.error} /> : <Waiting what="Reading rows" />;
}

function Filter({ where, columns, submit, name = "Filter" }: { where: string; columns: string[]; submit: (where: string) => void; name?: string }) {
  const [typed, setTyped] = useState(where);
  useEffect(() => setTyped(where), [where]);
  return (
    <form
      className="filter"
      onSubmit={(event) => {
        event.preventDefault();
        submit(typed.trim());
      }}
    >
      <label htmlFor="where">Filter, as Spark's SQL says it</label>
      <input id="where" list="columns" value={typed} maxLength={20_000} placeholder="amount > 100 AND judge = 'Reject'" spellCheck={false} autoComplete="off" onChange={(event) => setTyped(event.target.value)} />
      <Completion id="columns" typed={typed} columns={columns} />
      <button type="submit">{name}</button>
      {where && (
        <button type="button" onClick={() => submit("")}>
          Clear
        </button>
      )}
    </form>
  );
}
