import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { AskSpark } from "../AskSpark";
import { Downloads } from "../Downloads";
import { Lines } from "../Lines";
import { PlainTable } from "../PlainTable";
import { Trouble, Waiting } from "../Trouble";
import { api, type Descendants, type Forward, type SourceRows } from "../api";
import { hashOf, permalink, type View } from "../place";
import { count, when } from "../words";

export type Way = "forward" | "impact" | "why-not";

interface Props {
  id: string;
  asked: SourceRows;
  way: Way;
  close: string;
  link: View;
}

const TITLES: Record<Way, string> = {
  forward: "What did it touch?",
  impact: "What did it touch, here and in later runs?",
  "why-not": "Why is it not in the result?",
};

function follow(way: Way, id: string, asked: SourceRows, signal?: AbortSignal): Promise<Forward> {
  return way === "why-not" ? api.whyNot(id, asked, signal).then((one) => one.found) : api[way](id, asked, signal);
}

/** Source rows followed to the result, and on into later runs: what they touched, or that they are in it after all. */
export function Followed({ id, asked, way, close, link }: Props) {
  const found = useQuery({ queryKey: [way, id, asked], queryFn: ({ signal }) => follow(way, id, asked, signal) });
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [way, asked.table]);
  return (
    <section className="answer" aria-label={TITLES[way]}>
      <div className="bar">
        <h2 ref={heading} tabIndex={-1}>
          {TITLES[way]}
        </h2>
        <a href={permalink(link)}>Link to this</a>
        <a href={close}>Close</a>
      </div>
      {found.isPending && <Waiting what="Following" />}
      {found.error && <Trouble error={found.error} />}
      {found.data && (
        <>
          <p className="note">Asked about: {found.data.asked}</p>
          {found.data.rows && <PlainTable table={found.data.rows} caption={found.data.asked} />}
          {way === "why-not" && found.data.results.every((one) => one.result.total > 0) && (
            <p role="status">It is in the result: in the lineage of these rows.</p>
          )}
          {found.data.results.map((one, at) => (
            <Touched key={at} one={one} own={one.run.id === id} />
          ))}
          {way === "impact" && found.data.results.every((one) => one.table !== null) && <p>It touched no row of a later run.</p>}
          {found.data.remarks.map((one) => (
            <p key={one.cause} className="note">
              <span className={`badge ${one.level}`}>{one.level}</span> {one.cause}
            </p>
          ))}
          {found.data.remarks.some((one) => one.level === "unavailable") && found.data.results[0]!.ask.conf && (
            <AskSpark conf={found.data.results[0]!.ask.conf} />
          )}
          <Lines ask={found.data.results[0]!.ask} title="The same in a shell, and in Python:" />
          <Saved id={id} asked={asked} way={way} found={found.data} />
        </>
      )}
    </section>
  );
}

/** The answer as a document and as a page, and each run's rows, and their links, as files of their own. */
function Saved({ id, asked, way, found }: { id: string; asked: SourceRows; way: Way; found: Forward }) {
  const [chosen, choose] = useState<string>();
  const tables = found.results.flatMap((one) => one.tables.map((name) => ({ name, pipeline: one.run.pipeline })));
  const table = chosen ?? tables[0]!.name;
  return (
    <div className="bar">
      <label htmlFor="touched">Table for CSV and Arrow</label>
      <select id="touched" value={table} onChange={(event) => choose(event.target.value)}>
        {tables.map(({ name, pipeline }) => (
          <option key={name} value={name}>
            {name} ({pipeline})
          </option>
        ))}
      </select>
      <Downloads
        name={table === tables[0]!.name ? `touched-${id}` : `touched-${id}-${table}`}
        what="the rows that it touched"
        file={(form) => api.forwardFile(id, { ...asked, across: way === "impact", saved: table }, form)}
        json={() => follow(way === "why-not" ? "forward" : way, id, asked)}
        page={() => api.forwardPage(id, { ...asked, across: way === "impact" }).then((one) => one.page ?? "")}
      />
    </div>
  );
}

function Touched({ one, own }: { one: Descendants; own: boolean }) {
  const { result, guarantee } = one;
  return (
    <>
      <h3>
        {count(result.total, "row")} of the result of {own ? "this run" : <a href={hashOf({ run: one.run.id })}>{one.run.pipeline}</a>}{" "}
        <span className={`badge ${guarantee.level}`}>{guarantee.level}</span>
      </h3>
      {!own && (
        <p className="note">
          {[one.run.dag_id && `DAG ${one.run.dag_id}`, when(one.run.started), one.decides && "models decide in it"].filter(Boolean).join(" · ")}
        </p>
      )}
      {guarantee.cause && <p className="note">{guarantee.cause}</p>}
      {result.total > result.rows.length && <p className="note">The first {result.rows.length} are shown; a file has all.</p>}
      {result.total > 0 && (
        <PlainTable
          table={result}
          caption={`Rows that it touched in the result of ${one.run.pipeline}`}
          actions={(row) => (
            <a href={hashOf({ run: one.run.id, why: one.numbers[row] ?? "" })} aria-label={`Why? Row ${row + 1}`}>
              Why?
            </a>
          )}
        />
      )}
    </>
  );
}
