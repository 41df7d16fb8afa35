import type { Ask } from "./api";

/** The same question in Python and in a shell. */
export function Lines({ ask, title }: { ask: Ask; title: string }) {
  return (
    <div className="lines">
      <p className="note">{title}</p>
      {ask.command !== null && (
        <pre tabIndex={0} role="group" aria-label="in a shell">
          {ask.command}
        </pre>
      )}
      <pre tabIndex={0} role="group" aria-label="in Python">
        {ask.python}
      </pre>
    </div>
  );
}
