// What of a picture is visible, and what belongs together. Pure: no drawing here.

import type { Picture, PictureNode } from "../api";

/** A node, or several that are drawn as one (`groups`). */
export interface Drawn extends PictureNode {
  members?: string[];
}

export interface Graph {
  nodes: Map<string, Drawn>;
  /** The runs and tables beside a run or table, whichever way the data goes. */
  beside: Map<string, Set<string>>;
  /** From what is read to what reads it, and back; segments and their runs alike. */
  down: Map<string, Set<string>>;
  up: Map<string, Set<string>>;
  segments: Map<string, string[]>;
}

export function graphOf(picture: Picture): Graph {
  return joined(picture.nodes, picture.edges);
}

export function joined(all: Drawn[], edges: { source: string; target: string }[]): Graph {
  const nodes = new Map(all.map((node) => [node.id, node]));
  const graph: Graph = { nodes, beside: new Map(), down: new Map(), up: new Map(), segments: new Map() };
  for (const node of all) {
    if (node.parent) graph.segments.set(node.parent, [...(graph.segments.get(node.parent) ?? []), node.id]);
  }
  for (const { source, target } of edges) {
    if (!nodes.has(source) || !nodes.has(target)) continue;
    put(graph.down, source, target);
    put(graph.up, target, source);
    const [from, to] = [outer(graph, source), outer(graph, target)];
    if (from !== to) {
      put(graph.beside, from, to);
      put(graph.beside, to, from);
    }
  }
  return graph;
}

function put(sets: Map<string, Set<string>>, key: string, value: string): void {
  const found = sets.get(key);
  if (found) found.add(value);
  else sets.set(key, new Set([value]));
}

/** The run that a segment is drawn in; other nodes themselves. */
export function outer(graph: Graph, id: string): string {
  return graph.nodes.get(id)?.parent ?? id;
}

/** Where the picture opens, with one hop around it: at the newest run of the DAG run. */
export function opening(graph: Graph): string | undefined {
  const own = [...graph.nodes.values()].filter((node) => node.kind === "run" && node.is_own).map((node) => node.id);
  return own.sort().at(-1);
}

/** With everything that is one hop from a node. */
export function grown(graph: Graph, visible: Set<string>, at: string): Set<string> {
  const node = outer(graph, at);
  return new Set([...visible, node, ...(graph.beside.get(node) ?? [])]);
}

export function hidden(graph: Graph, visible: Set<string>, node: string): number {
  return [...(graph.beside.get(node) ?? [])].filter((one) => !visible.has(one)).length;
}

export function everything(graph: Graph): Set<string> {
  return new Set([...graph.nodes.values()].filter((node) => !node.parent).map((node) => node.id));
}

/** The ancestors and descendants of nodes, with themselves, and the runs that these are drawn in. */
export function related(graph: Graph, chosen: string[]): Set<string> {
  const start = chosen.flatMap((id) => [id, ...(graph.segments.get(id) ?? [])]);
  const found = new Set([...reached(graph.up, start), ...reached(graph.down, start)]);
  for (const id of [...found]) found.add(outer(graph, id));
  return found;
}

function reached(edges: Map<string, Set<string>>, from: string[]): Set<string> {
  const found = new Set(from);
  const waiting = [...from];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    for (const next of edges.get(at) ?? []) {
      if (!found.has(next)) {
        found.add(next);
        waiting.push(next);
      }
    }
  }
  return found;
}

/** The edges between what is visible: at segments where their run is open, else at the run. */
export function edgesOf(graph: Graph, visible: Set<string>, open: Set<string>): [string, string][] {
  const at = (id: string) => {
    const run = outer(graph, id);
    return visible.has(run) ? (open.has(run) ? id : run) : undefined;
  };
  const found = new Map<string, [string, string]>();
  for (const [source, targets] of graph.down) {
    for (const target of targets) {
      const [from, to] = [at(source), at(target)];
      if (from !== undefined && to !== undefined && from !== to) found.set(`${from}→${to}`, [from, to]);
    }
  }
  return [...found.values()];
}
