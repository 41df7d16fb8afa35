// What is shown of a picture, in the address: what was grown, opened and chosen.

import type { View } from "../place";
import { everything, grown, opening, type Graph } from "./graph";

export interface ShownParts {
  /** The nodes around which the picture was grown, in turn. */
  steps: string[];
  all: boolean;
  /** The runs whose segments are drawn. */
  open: Set<string>;
  chosen: string | undefined;
}

const NONE = "-";

export function atFirst(graph: Graph): ShownParts {
  const { start } = opening(graph);
  return { steps: [], all: false, open: new Set(start === undefined ? [] : [start]), chosen: undefined };
}

export function ofView(graph: Graph, view: View): ShownParts {
  const listed = (name: string) => (view[name] ?? "").split("\n").filter((id) => graph.nodes.has(id));
  const first = atFirst(graph);
  return {
    steps: listed("grown"),
    all: view["all"] === "1",
    open: view["open"] === undefined ? first.open : new Set(listed("open")),
    chosen: listed("chosen")[0],
  };
}

export function toView(graph: Graph, parts: ShownParts): View {
  const first = [...atFirst(graph).open].join("\n");
  const open = [...parts.open].join("\n");
  return { part: "picture", grown: parts.steps.join("\n"), all: parts.all ? "1" : "", open: open === first ? "" : open || NONE, chosen: parts.chosen ?? "" };
}

export function visibleOf(graph: Graph, parts: ShownParts): Set<string> {
  return parts.all ? everything(graph) : parts.steps.reduce((now, id) => grown(graph, now, id), opening(graph).visible);
}
