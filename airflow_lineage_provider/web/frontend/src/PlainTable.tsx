import type { ReactNode } from "react";

import type { Table } from "./api";
import { text } from "./words";

interface Props {
  table: Table;
  caption: string;
  /** What can be asked of a row, by its place. */
  actions?: (row: number) => ReactNode;
}

/** Rows of an answer as they are. */
export function PlainTable({ table, caption, actions }: Props) {
  const numeric = table.columns.map((_, at) => table.rows.every((row) => row[at] === null || typeof row[at] === "number"));
  return (
    <div className="scroll" role="region" aria-label={caption} tabIndex={0}>
      <table className="rows">
        <caption>{caption}</caption>
        <thead>
          <tr>
            {actions && (
              <th scope="col">
                <span className="hidden">Ask</span>
              </th>
            )}
            {table.columns.map((column, at) => (
              <th key={at} scope="col" className={numeric[at] ? "n" : undefined}>
                {column.name}
                <small>{column.type}</small>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, number) => (
            <tr key={number}>
              {actions && <td className="actions">{actions(number)}</td>}
              {row.map((value, at) => {
                const told = text(value);
                return (
                  <td key={at} className={`${numeric[at] ? "n" : ""} ${value === null ? "null" : ""}`}>
                    {told.length > 300 ? `${told.slice(0, 299)}…` : told}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
