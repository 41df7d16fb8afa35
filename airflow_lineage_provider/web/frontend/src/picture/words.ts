// Nodes of a picture in words.

import { count } from "../words";
import type { Drawn } from "./graph";

/** What stands below a node's name. */
export function said(node: Drawn): string {
  if (node.kind === "run" && node.members) return node.status ?? "";
  const rows = node.rows === null ? "" : count(node.rows, "row");
  if (node.kind === "run") return [`${node.task_id ?? ""}${node.map_index === null ? "" : ` [${node.map_index}]`}`, node.status ?? ""].filter(Boolean).join(" · ");
  if (node.kind === "segment") return [node.kind_name, node.stored ? "stored" : "not stored", rows].filter(Boolean).join(" · ");
  return [node.withheld ? "withheld" : node.stored ? "stored" : "", rows].filter(Boolean).join(" · ") || node.detail;
}

/** A node in one sentence, for those who hear it. */
export function told(node: Drawn, more: number): string {
  const kind = { run: node.members ? "Runs " : "Run ", table: node.members ? "Tables " : "Table ", segment: "" }[node.kind];
  return [kind + node.label, said(node), more ? `${more} more beside it` : ""].filter(Boolean).join(", ");
}
