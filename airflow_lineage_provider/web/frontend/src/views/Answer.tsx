import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState, type ReactNode } from "react";

import { AskSpark } from "../AskSpark";
import { Downloads } from "../Downloads";
import { Lines } from "../Lines";
import { Trouble, Waiting } from "../Trouble";
import type { Explanation, FileForm } from "../api";
import { permalink, type View } from "../place";
import { save } from "../save";
import { currentTheme, type Theme } from "../theme";

interface Props {
  /** What the files that are saved are called. */
  name: string;
  queryKey: unknown[];
  ask: (form: "json" | "page", signal?: AbortSignal) => Promise<Explanation>;
  file: (table: string, form: FileForm) => Promise<Blob>;
  close: string;
  link: View;
  children?: ReactNode;
}

/** An explanation, exactly as the HTML page shows it: the page itself, in a frame. */
export function Answer({ name, queryKey, ask, file, close, link, children }: Props) {
  const found = useQuery({ queryKey: [...queryKey, "page"], queryFn: ({ signal }) => ask("page", signal) });
  const [table, setTable] = useState("target");
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const page = found.data?.page;
  return (
    <section className="answer" aria-label="Why?">
      <div className="bar">
        <h2 ref={heading} tabIndex={-1}>
          Why?
        </h2>
        {page && (
          <button type="button" onClick={() => save(`${name}.html`, new Blob([page], { type: "text/html" }))}>
            Save page
          </button>
        )}
        <a href={permalink(link)}>Link to this</a>
        <a href={close}>Close</a>
      </div>
      {found.isPending && <Waiting what="Tracing" />}
      {found.error && <Trouble error={found.error} />}
      {page && <Page page={page} />}
      {found.data && (
        <div className="bar">
          <label htmlFor="saved">Table for CSV and Arrow</label>
          <select id="saved" value={table} onChange={(event) => setTable(event.target.value)}>
            {found.data.tables.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
          <Downloads name={name} what="the explanation" file={(form) => file(table, form)} json={() => ask("json").then((one) => one.document)} />
        </div>
      )}
      {page && children}
      {found.data?.ask?.conf && <AskSpark conf={found.data.ask.conf} />}
      {found.data?.ask && <Lines ask={found.data.ask} title="The same in a shell, and in Python:" />}
    </section>
  );
}

function Page({ page }: { page: string }) {
  const [theme, setTheme] = useState<Theme>(currentTheme);
  useEffect(() => {
    const changed = () => setTheme(currentTheme());
    window.addEventListener("themechange", changed);
    return () => window.removeEventListener("themechange", changed);
  }, []);
  return <iframe title="The explanation" srcDoc={inTheme(page, theme)} sandbox="allow-scripts allow-same-origin allow-downloads" />;
}

/** The page follows the system's theme; Airflow's may be the other. Its style alone is touched. */
function inTheme(page: string, theme: Theme): string {
  const end = page.indexOf("</style>");
  const always = theme === "dark" ? "(min-width:0)" : "(max-width:0)";
  const style = page.slice(0, end).replaceAll("(prefers-color-scheme:dark)", always).replace("color-scheme:light dark", `color-scheme:${theme}`);
  return style + page.slice(end);
}
