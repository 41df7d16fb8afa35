import { useState } from "react";

import { Trouble } from "./Trouble";
import type { FileForm } from "./api";
import { save, saveJson } from "./save";

interface Props {
  name: string;
  what: string;
  file: (form: FileForm) => Promise<Blob>;
  json: () => Promise<unknown>;
  /** The page, where it is to be made. */
  page?: () => Promise<string>;
}

/** The same rows as files, under the same rights and caps. */
export function Downloads({ name, what, file, json, page }: Props) {
  const [failed, setFailed] = useState<unknown>();
  const asked = (work: Promise<void>) => {
    setFailed(undefined);
    work.catch(setFailed);
  };
  return (
    <>
      <span className="bar" role="group" aria-label={`Save ${what}`}>
        {page && (
          <button type="button" onClick={() => asked(page().then((found) => save(`${name}.html`, new Blob([found], { type: "text/html" }))))}>
            Save page
          </button>
        )}
        <button type="button" onClick={() => asked(json().then((found) => saveJson(name, found)))}>
          Save JSON
        </button>
        {(["csv", "arrow"] as const).map((form) => (
          <button key={form} type="button" onClick={() => asked(file(form).then((found) => save(`${name}.${form}`, found)))}>
            Save {form === "csv" ? "CSV" : "Arrow"}
          </button>
        ))}
      </span>
      {failed != null && <Trouble error={failed} />}
    </>
  );
}
