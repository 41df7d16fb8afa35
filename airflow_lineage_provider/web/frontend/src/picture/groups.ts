// Instances of one mapped task as one box, and the tables that pass between the same boxes with them. Pure, as `graph`.

import type { PictureNode } from "../api";
import { joined, outer, type Drawn, type Graph } from "./graph";

/** As many are drawn one by one. */
export const FEW = 3;

export interface Group extends Drawn {
  members: string[];
}

/** A picture, its groups, and what of it is drawn: each group is one node but for those that somebody has opened. */
export interface Folded {
  whole: Graph;
  groups: Map<string, Group>;
  drawn: Graph;
  /** Where a node of the whole picture is drawn: itself, or in its group. */
  at: (id: string) => string;
}

/**
 * More than `FEW` runs of one mapped task's instances, of one pipeline in one DAG run; and more than `FEW` tables of single instances that
 * the same boxes write and the same boxes read. (A table that several instances read is one that people know by its name.)
 */
export function groupsOf(graph: Graph): Map<string, Group> {
  const groups = new Map<string, Group>();
  const nodes = [...graph.nodes.values()];
  const instances = nodes.filter((node) => node.kind === "run" && node.map_index != null);
  for (const [key, runs] of by(instances, ({ dag_id, dag_run_id, task_id, label }) => JSON.stringify([dag_id, dag_run_id, task_id, label]))) {
    if (runs.length > FEW) put(groups, `×${key}`, runs.sort((a, b) => (a.map_index ?? 0) - (b.map_index ?? 0)));
  }
  const at = placeIn(graph, groups);
  const boxes = (edges: Map<string, Set<string>>, { id }: PictureNode) => [...new Set([...(edges.get(id) ?? [])].map(at))].sort();
  const ofOne = ({ id }: PictureNode) => [...by([...(graph.beside.get(id) ?? [])], at)].some(([box, runs]) => groups.has(box) && runs.length === 1);
  const beside = nodes.filter((node) => node.kind === "table" && ofOne(node));
  for (const tables of by(beside, (node) => JSON.stringify([boxes(graph.up, node), boxes(graph.down, node), node.withheld])).values()) {
    if (tables.length > FEW) put(groups, `×${tables[0]?.id}`, tables);
  }
  return groups;
}

export function folded(whole: Graph, groups: Map<string, Group>, opened: Set<string>): Folded {
  const closed = new Map([...groups].filter(([id]) => !opened.has(id)));
  const at = placeIn(whole, closed);
  // (A group stands where its first member stood, and has no segments.)
  const nodes = new Map<string, Drawn>();
  for (const node of whole.nodes.values()) {
    const place = at(node.id);
    const shown = place === node.id ? node : closed.get(place);
    if (shown) nodes.set(place, shown);
  }
  const edges = [...whole.down].flatMap(([source, targets]) => [...targets].map((target) => ({ source: at(source), target: at(target) })));
  return { whole, groups, drawn: joined([...nodes.values()], edges.filter(({ source, target }) => source !== target)), at };
}

/** What is drawn of a node, or of a group that may be open; nothing of what is not in the picture. */
export function drawnOf({ whole, groups, drawn, at }: Folded, id: string): string[] {
  if (drawn.nodes.has(id)) return [id];
  return whole.nodes.has(id) ? [at(id)] : (groups.get(id)?.members ?? []);
}

/** The group that a node is in, drawn as one or not. */
export function groupOf({ groups }: Folded, id: string): Group | undefined {
  return groups.get(id) ?? [...groups.values()].find((group) => group.members.includes(id));
}

function put(groups: Map<string, Group>, id: string, nodes: PictureNode[]): void {
  const [first, last] = [nodes[0], nodes.at(-1)];
  if (!first || !last) return;
  const rows = nodes.map((node) => node.rows);
  const name = first.kind === "run" ? (first.task_id ?? first.label) : beginning(nodes.map((node) => node.label));
  groups.set(id, {
    ...first,
    id,
    label: `${name} × ${nodes.length.toLocaleString("en")}`,
    detail: first.kind === "run" ? first.label : first.label === last.label ? first.detail : `${first.label} … ${last.label}`,
    stored: nodes.every((node) => node.stored),
    rows: rows.includes(null) ? null : rows.reduce<number>((sum, one) => sum + (one ?? 0), 0),
    status: counted(nodes.map((node) => node.status ?? "")),
    run_id: null,
    map_index: null,
    is_own: nodes.some((node) => node.is_own),
    members: nodes.map((node) => node.id),
  });
}

/** How often each is there: "298 complete, 2 failed". */
function counted(all: string[]): string {
  return [...by(all, (one) => one)].map(([one, found]) => (one ? `${found.length.toLocaleString("en")} ${one}` : "")).filter(Boolean).join(", ");
}

/** What all names begin with. */
function beginning(names: string[]): string {
  const [first = ""] = names;
  let length = first.length;
  for (const name of names) while (!name.startsWith(first.slice(0, length))) length--;
  if (names.every((name) => name === first)) return first;
  return length > 1 ? `${first.slice(0, length)}…` : "tables";
}

function placeIn(graph: Graph, groups: Map<string, Group>): (id: string) => string {
  const of = new Map([...groups.values()].flatMap((group) => group.members.map((member): [string, string] => [member, group.id])));
  return (id) => of.get(outer(graph, id)) ?? id;
}

function by<T>(all: T[], key: (one: T) => string): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const one of all) {
    const known = found.get(key(one));
    if (known) known.push(one);
    else found.set(key(one), [one]);
  }
  return found;
}
