import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState, type ReactNode } from "react";

import { AskSpark } from "../AskSpark";
import { Downloads } from "../Downloads";
import { Lines } from "../Lines";
import { Trouble, Waiting } from "../Trouble";
import type { Explanation, ExplanationForm, FileForm } from "../api";
import { hashOf, permalink, type View } from "../place";
import { save, saveJson } from "../save";
import { currentTheme, type Theme } from "../theme";
import { count, QUESTIONS } from "../words";

interface Props {
  /** What the files that are saved are called. */
  name: string;
  queryKey: unknown[];
  ask: (form: ExplanationForm, signal?: AbortSignal) => Promise<Explanation>;
  file: (table: string, form: FileForm) => Promise<Blob>;
  close: string;
  link: View;
  children?: ReactNode;
}

/** An answer, exactly as its HTML page shows it: the page itself, in a frame; or the letters about a UDF's decisions in an explanation. */
export function Answer({ name, queryKey, ask, file, close, link, children }: Props) {
  const { letters: udf, ...why } = link;
  const form: ExplanationForm = udf ? { letters: udf } : "page";
  const found = useQuery({ queryKey: [...queryKey, form], queryFn: ({ signal }) => ask(form, signal) });
  const [chosen, setTable] = useState<string>();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [udf]);
  const page = found.data?.page;
  const table = chosen ?? found.data?.tables[0] ?? "target";
  const title = udf ? "Letters of reasons" : QUESTIONS[found.data?.question ?? "explain"];
  return (
    <section className="answer" aria-label={title}>
      <div className="bar">
        <h2 ref={heading} tabIndex={-1}>
          {title}
        </h2>
        {udf && found.data?.document != null && (
          <button type="button" onClick={() => saveJson(`letters-${name}`, found.data?.document)}>
            Save JSON
          </button>
        )}
        {page && (
          <button type="button" onClick={() => save(udf ? `letters-${name}.html` : `${name}.html`, new Blob([page], { type: "text/html" }))}>
            Save page
          </button>
        )}
        <a href={permalink(link)}>Link to this</a>
        {udf && <a href={hashOf(why)}>Why?</a>}
        <a href={close}>Close</a>
      </div>
      {found.isPending && <Waiting what="Tracing" />}
      {found.error && <Trouble error={found.error} />}
      {page && <Page page={page} title={udf ? "The letters" : found.data?.question === "explain" ? "The explanation" : "The answer"} />}
      {!udf &&
        found.data?.letters.map((one) => (
          <p key={one}>
            <a href={hashOf({ ...link, letters: one })}>Letters of reasons about {one}</a>: for each decision that is not favourable, what counted against it, to be printed.
          </p>
        ))}
      {found.data && !udf && (
        <div className="bar">
          <label htmlFor="saved">Table for CSV and Arrow</label>
          <select id="saved" value={table} onChange={(event) => setTable(event.target.value)}>
            {found.data.tables.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
          <Downloads name={name} what="the answer" file={(form) => file(table, form)} json={() => ask("json").then((one) => one.document)} />
        </div>
      )}
      {found.data?.rows_in_files != null && found.data.question !== "why_not" && !udf && (
        <p className="note">CSV and Arrow have the first {count(found.data.rows_in_files, "row")} of a table, and JSON is not made of so many: the lines below have all.</p>
      )}
      {page && !udf && found.data?.question === "explain" && children}
      {found.data?.ask?.conf && <AskSpark conf={found.data.ask.conf} />}
      {found.data?.ask && <Lines ask={found.data.ask} title="The same in a shell, and in Python:" />}
    </section>
  );
}

function Page({ page, title }: { page: string; title: string }) {
  const [theme, setTheme] = useState<Theme>(currentTheme);
  useEffect(() => {
    const changed = () => setTheme(currentTheme());
    window.addEventListener("themechange", changed);
    return () => window.removeEventListener("themechange", changed);
  }, []);
  return <iframe title={title} srcDoc={inTheme(page, theme)} sandbox="allow-scripts allow-same-origin allow-downloads" />;
}

/** The page follows the system's theme; Airflow's may be the other. Its style alone is touched. */
function inTheme(page: string, theme: Theme): string {
  const end = page.indexOf("</style>");
  const always = theme === "dark" ? "(min-width:0)" : "(max-width:0)";
  const style = page.slice(0, end).replaceAll("(prefers-color-scheme:dark)", always).replace("color-scheme:light dark", `color-scheme:${theme}`);
  return style + page.slice(end);
}
