import { flexRender, getCoreRowModel, useReactTable, type ColumnDef } from "@tanstack/react-table";
import { useMemo } from "react";

import type { Rows } from "../api";
import { equals, text } from "../words";

interface Props {
  rows: Rows;
  sort: { column: string; descending: boolean } | undefined;
  chosen: string | undefined;
  setSort: (sort: string) => void;
  addFilter: (term: string) => void;
  whyHref: (numbers: string) => string;
  columnHref: (column: string) => string;
  ticked: ReadonlySet<string>;
  tick: (number: string) => void;
}

type Row = { number: string; values: unknown[] };

/** A page of rows. The server pages, sorts and filters; a header sorts, a value filters, Why? explains, a tick takes a row to others. */
export function RowsTable({ rows, sort, chosen, setSort, addFilter, whyHref, columnHref, ticked, tick }: Props) {
  const explained = new Set(chosen?.split(","));
  const data = useMemo(() => rows.rows.map((values, at): Row => ({ number: rows.numbers[at] ?? "", values })), [rows]);
  const columns = useMemo(
    () =>
      rows.columns.map(
        (one, at): ColumnDef<Row> => ({
          id: String(at),
          header: one.name,
          cell: ({ row }) => <Value value={row.original.values[at]} column={one} addFilter={addFilter} />,
        }),
      ),
    [rows.columns, addFilter],
  );
  const table = useReactTable({ data, columns, getCoreRowModel: getCoreRowModel(), manualPagination: true, manualSorting: true });
  return (
    <div className="scroll" role="region" aria-label="Rows of the result" tabIndex={0}>
      <table className="rows">
        <caption>Rows of the result</caption>
        <thead>
          <tr>
            <th scope="col">
              <span className="hidden">Explain</span>
            </th>
            {table.getFlatHeaders().map((header, at) => {
              const column = rows.columns[at];
              const own = sort && sort.column === column?.name ? sort : undefined;
              return (
                <th key={header.id} scope="col" className={isNumber(column) ? "n" : undefined} aria-sort={own ? (own.descending ? "descending" : "ascending") : "none"}>
                  <button
                    type="button"
                    className="plain"
                    disabled={column?.masked}
                    onClick={() => setSort(`${own && !own.descending ? "-" : "+"}${column?.name}`)}
                  >
                    {flexRender(header.column.columnDef.header, header.getContext())}
                    <span aria-hidden="true">{own ? (own.descending ? " ↓" : " ↑") : ""}</span>
                  </button>
                  <small>
                    {column?.type}{" "}
                    <a href={columnHref(column?.name ?? "")} aria-label={`Where does ${column?.name} come from?`}>
                      from?
                    </a>
                  </small>
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {table.getRowModel().rows.map((row, at) => (
            <tr key={row.id} className={explained.has(row.original.number) ? "chosen" : undefined}>
              <td>
                <input
                  type="checkbox"
                  checked={ticked.has(row.original.number)}
                  onChange={() => tick(row.original.number)}
                  aria-label={`Take row ${rows.offset + at + 1} to those that are explained together`}
                />{" "}
                <a href={whyHref(row.original.number)} aria-label={`Why? Row ${rows.offset + at + 1}`}>
                  Why?
                </a>
              </td>
              {row.getVisibleCells().map((cell) => (
                <td key={cell.id} className={isNumber(rows.columns[cell.column.getIndex()]) ? "n" : undefined}>{flexRender(cell.column.columnDef.cell, cell.getContext())}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function isNumber(column: Rows["columns"][number] | undefined): boolean {
  return !column?.masked && /^(tinyint|smallint|int|bigint|float|double|decimal)/.test(column?.type ?? "");
}

function Value({ value, column, addFilter }: { value: unknown; column: Rows["columns"][number]; addFilter: (term: string) => void }) {
  const told = text(value);
  const term = column.masked ? undefined : equals(column.name, column.type, value);
  const shown = <span className={value === null ? "null" : undefined}>{told.length > 300 ? `${told.slice(0, 299)}…` : told}</span>;
  if (term === undefined) return shown;
  return (
    <button type="button" className="plain value" title={`Only rows with ${term.slice(0, 200)}`} onClick={() => addFilter(term)}>
      {shown}
    </button>
  );
}
