import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { Lines } from "../Lines";
import { Trouble, Waiting } from "../Trouble";
import type { Explanation } from "../api";
import { permalink, type View } from "../place";
import { currentTheme, type Theme } from "../theme";

interface Props {
  /** What the files that are saved are called. */
  name: string;
  queryKey: unknown[];
  ask: (form: "json" | "page", signal?: AbortSignal) => Promise<Explanation>;
  close: string;
  link: View;
}

/** An explanation, exactly as the HTML page shows it: the page itself, in a frame. */
export function Answer({ name, queryKey, ask, close, link }: Props) {
  const found = useQuery({ queryKey: [...queryKey, "page"], queryFn: ({ signal }) => ask("page", signal) });
  const [failed, setFailed] = useState<unknown>();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const page = found.data?.page;
  const saveJson = () =>
    ask("json")
      .then((answer) => save(`${name}.json`, JSON.stringify(answer.document, null, 1), "application/json"))
      .catch(setFailed);
  return (
    <section className="answer" aria-label="Why?">
      <div className="bar">
        <h2 ref={heading} tabIndex={-1}>
          Why?
        </h2>
        {page && (
          <>
            <button type="button" onClick={() => save(`${name}.html`, page, "text/html")}>
              Save page
            </button>
            <button type="button" onClick={() => void saveJson()}>
              Save JSON
            </button>
          </>
        )}
        <a href={permalink(link)}>Link to this</a>
        <a href={close}>Close</a>
      </div>
      {found.isPending && <Waiting what="Tracing" />}
      {(found.error ?? failed) != null && <Trouble error={found.error ?? failed} />}
      {page && <Page page={page} />}
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

function save(name: string, content: string, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
