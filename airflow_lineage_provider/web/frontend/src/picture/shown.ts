// What is shown of a picture, in the address: what was grown, opened and chosen.

import type { View } from "../place";
import { everything, grown, opening, related, type Graph } from "./graph";
import { drawnOf, type Folded, type Group } from "./groups";

export interface ShownParts {
  /** The nodes around which the picture was grown, in turn. */
  steps: string[];
  all: boolean;
  /** The runs whose segments are drawn. */
  open: Set<string>;
  /** The groups whose members are drawn each by itself. */
  each: Set<string>;
  chosen: string | undefined;
}

const NONE = "-";

export function atFirst(whole: Graph): ShownParts {
  const start = opening(whole);
  return { steps: [], all: false, open: new Set(start === undefined ? [] : [start]), each: new Set(), chosen: undefined };
}

export function ofView(whole: Graph, groups: Map<string, Group>, view: View): ShownParts {
  const listed = (name: string) => (view[name] ?? "").split("\n").filter((id) => whole.nodes.has(id) || groups.has(id));
  const first = atFirst(whole);
  return {
    steps: listed("grown"),
    all: view["all"] === "1",
    open: view["open"] === undefined ? first.open : new Set(listed("open")),
    each: new Set(listed("each")),
    chosen: listed("chosen")[0],
  };
}

export function toView(whole: Graph, parts: ShownParts): View {
  const first = [...atFirst(whole).open].join("\n");
  const open = [...parts.open].join("\n");
  return {
    part: "picture",
    grown: parts.steps.join("\n"),
    all: parts.all ? "1" : "",
    open: open === first ? "" : open || NONE,
    each: [...parts.each].join("\n"),
    chosen: parts.chosen ?? "",
  };
}

export function visibleOf(picture: Folded, parts: ShownParts): Set<string> {
  const { whole, drawn } = picture;
  if (parts.all) return everything(drawn);
  const start = opening(whole);
  const steps = [...(start === undefined ? [] : [start]), ...parts.steps].flatMap((id) => drawnOf(picture, id));
  return steps.reduce((now, id) => grown(drawn, now, id), new Set<string>());
}

/** What is drawn of the ancestors and descendants of a node, or of a group's members: of these themselves, not of others in their box. */
export function relatedOf({ whole, groups, at }: Folded, chosen: string): Set<string> {
  return new Set([...related(whole, groups.get(chosen)?.members ?? [chosen])].map(at));
}

/** How many runs and tables there are among what is drawn, and in how many boxes those are that are drawn as one. */
export function countOf({ drawn }: Folded, ids: Set<string>): { nodes: number; boxes: number } {
  const sizes = [...ids].map((id) => drawn.nodes.get(id)?.members?.length ?? 1);
  return { nodes: sizes.reduce((sum, one) => sum + one, 0), boxes: sizes.filter((one) => one > 1).length };
}
