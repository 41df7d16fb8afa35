import { Problem } from "./api";
import { AskSpark } from "./AskSpark";
import { Lines } from "./Lines";

/** What went wrong, and where it can be had otherwise. */
export function Trouble({ error }: { error: unknown }) {
  const known = error instanceof Problem ? error : undefined;
  const spark = known?.name === "SparkRequired" || known?.name === "ResultNotStored";
  return (
    <div className={spark ? "notice" : "notice bad"} role="alert">
      <p>
        <strong>{spark ? "Not from here." : "That did not work."}</strong> {known?.message ?? String(error)}
      </p>
      {known?.ask?.conf && <AskSpark conf={known.ask.conf} />}
      {known?.ask && <Lines ask={known.ask} title="Ask it where there is Spark:" />}
    </div>
  );
}

export function Waiting({ what }: { what: string }) {
  return (
    <p className="waiting" role="status">
      {what} …
    </p>
  );
}
