// Where everything stands: segments within their run, then runs and tables, the data flowing to the right, or downwards.

import { Graph as Dagre, layout } from "@dagrejs/dagre";

import { outer, type Graph } from "./graph";
import { inLayers } from "./layers";

export const NODE = { width: 200, height: 58 };
export const SEGMENT = { width: 176, height: 44 };
const HEAD = 54;
const PAD = 12;
/** On a narrow screen the data flows downwards. */
export const isNarrow = () => window.innerWidth < 640;
/** More are set by `layers`. */
export const MANY = 200;

export interface Place {
  x: number;
  y: number;
  width: number;
  height: number;
}

export function placed(graph: Graph, visible: Set<string>, open: Set<string>, edges: [string, string][]): Map<string, Place> {
  const found = new Map<string, Place>();
  const sizes = new Map<string, { width: number; height: number }>();
  for (const id of visible) {
    const segments = open.has(id) ? (graph.segments.get(id) ?? []) : [];
    const inside = segments.length ? drawn(new Map(segments.map((one) => [one, SEGMENT])), edges.filter(([from, to]) => outer(graph, from) === id && outer(graph, to) === id)) : undefined;
    if (!inside) {
      sizes.set(id, NODE);
      continue;
    }
    for (const [segment, place] of inside.places) found.set(segment, { ...place, x: place.x + PAD, y: place.y + HEAD });
    sizes.set(id, { width: Math.max(NODE.width, inside.width + 2 * PAD), height: inside.height + HEAD + PAD });
  }
  const between = edges.map(([from, to]): [string, string] => [outer(graph, from), outer(graph, to)]).filter(([from, to]) => from !== to);
  for (const [id, place] of drawn(sizes, between).places) found.set(id, place);
  return found;
}

function drawn(sizes: Map<string, { width: number; height: number }>, edges: [string, string][]) {
  if (sizes.size > MANY) {
    const corners = inLayers(sizes, edges, isNarrow());
    return { places: new Map([...sizes].map(([id, size]) => [id, { ...size, ...(corners.get(id) ?? { x: 0, y: 0 }) }])), width: 0, height: 0 };
  }
  const made = new Dagre();
  made.setGraph({ rankdir: isNarrow() ? "TB" : "LR", nodesep: 26, ranksep: isNarrow() ? 40 : 60 });
  made.setDefaultEdgeLabel(() => ({}));
  for (const [id, size] of sizes) made.setNode(id, { ...size });
  for (const [from, to] of edges) made.setEdge(from, to);
  layout(made);
  const places = new Map<string, Place>();
  let [width, height] = [0, 0];
  for (const id of sizes.keys()) {
    const { x, y, width: w, height: h } = made.node(id) as Place;
    places.set(id, { x: x - w / 2, y: y - h / 2, width: w, height: h });
    width = Math.max(width, x + w / 2);
    height = Math.max(height, y + h / 2);
  }
  return { places, width, height };
}
