import type { RunDetails } from "../api";
import { count, size } from "../words";

/** What a run stored and why, and its plan's segments. */
export function StoredView({ details }: { details: RunDetails }) {
  return (
    <>
      <table className="runs">
        <caption>What the run stored</caption>
        <thead>
          <tr>
            <th scope="col">Table</th>
            <th scope="col">Kind</th>
            <th scope="col" className="n">
              Rows
            </th>
            <th scope="col" className="n">
              Size
            </th>
            <th scope="col">Why</th>
          </tr>
        </thead>
        <tbody>
          {details.stored.map((one) => (
            <tr key={one.name}>
              <th scope="row">{one.name}</th>
              <td>{one.kind + (one.in_files ? ", in files" : "")}</td>
              <td className="n">{one.rows === null ? "–" : count(one.rows, "row")}</td>
              <td className="n">{size(one.bytes)}</td>
              <td>{one.because}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {details.stored.length === 0 && <p>Nothing: a question about this run makes again what it needs, with Spark.</p>}
      <h2>Segments of the plan</h2>
      <ol className="segments" start={0}>
        {details.segments.map((one) => (
          <li key={one.number}>
            <span className={`badge ${one.kind}`}>{one.kind === "d" ? "D-segment" : "Non-D-segment"}</span>{" "}
            <span className="badge">{one.stored ? "stored" : "not stored"}</span> <code>{one.operator}</code>
            {one.because && <span className="note"> {one.because}</span>}
          </li>
        ))}
      </ol>
    </>
  );
}
