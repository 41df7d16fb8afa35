// Numbers, sizes, times, questions and values as people read them.

import type { Cost, Question } from "./api";

export function count(rows: number, noun: string): string {
  return `${rows.toLocaleString("en")} ${noun}${rows === 1 ? "" : "s"}`;
}

export function size(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const at = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log(bytes) / Math.log(1024)));
  const value = bytes / 1024 ** at;
  return `${at && value < 10 ? value.toFixed(1) : Math.round(value)} ${units[at]}`;
}

export function seconds(value: number | null): string {
  if (value === null) return "–";
  if (value < 0.1) return `${Math.round(value * 1000)} ms`;
  if (value < 60) return `${value.toFixed(1)} s`;
  const whole = Math.round(value);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/** What lineage took of a run, as a share of the rest of it. */
export function share(cost: Cost | null): string {
  if (cost?.share == null) return "–";
  const percent = cost.share * 100;
  return `${cost.at_least ? "≥ " : ""}${percent.toFixed(percent < 9.95 ? 1 : 0)} %`;
}

export function when(iso: string): string {
  return iso ? iso.slice(0, 16).replace("T", " ") : "–";
}

/** Which part of a question about many rows an answer is; nothing where it is whole. */
export function chunkText(chunk: { number: number; of: number } | null): string {
  return chunk && chunk.of > 1 ? ` (chunk ${chunk.number.toLocaleString("en")} of ${chunk.of.toLocaleString("en")})` : "";
}

export const QUESTIONS: Record<Question, string> = {
  explain: "Why?",
  why_not: "Why is it not in the result?",
  forward: "What did it touch?",
};

/** What a stored answer was asked, in a list. */
export function askedText(one: { id: string; question: Question; asked: string }): string {
  const asked = one.asked || one.id;
  return one.question === "explain" ? asked : `${QUESTIONS[one.question]} ${asked}`;
}

export const STRATEGIES: Record<string, string> = {
  function_materialization: "functions",
  full_materialization: "all segments",
  rerun: "nothing (rerun)",
  auto: "what pays",
};

export function text(value: unknown): string {
  if (value === null) return "NULL";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Words that no expression has as a column's name without backticks. */
const TAKEN = new Set("and as between by case cast else end exists false from group in interval is like not null on or order select then true when where".split(" "));

/** A column's name in Spark's SQL. */
export function named(column: string): string {
  const plain = /^[A-Za-z_][A-Za-z0-9_]*$/.test(column) && !TAKEN.has(column.toLowerCase());
  return plain ? column : `\`${column.replaceAll("`", "``")}\``;
}

/** A predicate that a column has a value, in Spark's SQL; undefined where there is no plain way to say it. */
export function equals(column: string, type: string, value: unknown): string | undefined {
  const name = named(column);
  if (value === null) return `${name} IS NULL`;
  if (typeof value === "number" || typeof value === "boolean") return `${name} = ${value}`;
  if (typeof value !== "string") return undefined;
  const quoted = `'${value.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  if (type === "string") return `${name} = ${quoted}`;
  if (type === "date") return `${name} = DATE ${quoted}`;
  if (type.startsWith("decimal") || type === "bigint") return `${name} = ${value}`;
  return undefined;
}
