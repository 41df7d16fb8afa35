import type { PictureNode } from "../api";
import { hashOf } from "../place";
import type { Graph } from "./graph";
import { outer } from "./graph";
import { said } from "./words";

/** The picture as a list: each run with what it reads, its segments, and what it writes. */
export function PictureList({ graph }: { graph: Graph }) {
  const runs = [...graph.nodes.values()].filter((node) => node.kind === "run");
  return (
    <ol className="picture-list">
      {runs.map((run) => (
        <li key={run.id}>
          <h3>
            <a href={hashOf({ run: run.run_id ?? "" })}>{run.label}</a> <small>{said(run)}</small>
          </h3>
          <Tables title="Reads" nodes={beside(graph, run, graph.up)} graph={graph} />
          <ul aria-label={`Segments of ${run.label}`}>
            {(graph.segments.get(run.id) ?? []).map((id) => {
              const segment = graph.nodes.get(id);
              return (
                segment && (
                  <li key={id}>
                    {segment.label} <span className={`badge ${segment.segment_kind === "d" ? "d" : ""}`}>{said(segment)}</span> <code>{segment.detail}</code>
                  </li>
                )
              );
            })}
          </ul>
          <Tables title="Writes" nodes={beside(graph, run, graph.down)} graph={graph} />
        </li>
      ))}
    </ol>
  );
}

function beside(graph: Graph, run: PictureNode, edges: Map<string, Set<string>>): PictureNode[] {
  const ids = [run.id, ...(graph.segments.get(run.id) ?? [])].flatMap((id) => [...(edges.get(id) ?? [])]);
  return [...new Set(ids)].map((id) => graph.nodes.get(id)).filter((node): node is PictureNode => node?.kind === "table");
}

function Tables({ title, nodes, graph }: { title: string; nodes: PictureNode[]; graph: Graph }) {
  if (!nodes.length) return null;
  return (
    <p>
      {title}{" "}
      {nodes.map((node, at) => {
        const writers = [...(graph.up.get(node.id) ?? [])].map((id) => graph.nodes.get(outer(graph, id))?.label).filter(Boolean);
        const by = title === "Reads" && writers.length ? `, which ${[...new Set(writers)].join(" and ")} wrote` : "";
        return (
          <span key={node.id}>
            {at > 0 && "; "}
            <strong>{node.label}</strong> <small>{said(node)}</small>
            {by}
          </span>
        );
      })}
    </p>
  );
}
