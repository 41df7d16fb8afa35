import { useMemo } from "react";

import { hashOf } from "../place";
import { outer, type Drawn, type Graph } from "./graph";
import { folded, groupsOf } from "./groups";
import { said } from "./words";

/** The picture as a list: each run with what it reads, its segments, and what it writes. Instances of a mapped task are one item, with a list of them. */
export function PictureList({ graph }: { graph: Graph }) {
  const { drawn } = useMemo(() => folded(graph, groupsOf(graph), new Set()), [graph]);
  const runs = [...drawn.nodes.values()].filter((node) => node.kind === "run");
  return (
    <ol className="picture-list">
      {runs.map((run) => (
        <li key={run.id}>
          <Run run={run} graph={drawn} />
          {run.members && (
            <details>
              <summary>Each of {run.label}</summary>
              <ol>
                {run.members.map((id) => {
                  const one = graph.nodes.get(id);
                  return (
                    one && (
                      <li key={id}>
                        <Run run={one} graph={graph} />
                      </li>
                    )
                  );
                })}
              </ol>
            </details>
          )}
        </li>
      ))}
    </ol>
  );
}

function Run({ run, graph }: { run: Drawn; graph: Graph }) {
  const segments = graph.segments.get(run.id) ?? [];
  return (
    <>
      <h3>
        {run.run_id ? <a href={hashOf({ run: run.run_id })}>{run.label}</a> : run.label} <small>{said(run)}</small>
      </h3>
      <Tables title="Reads" nodes={beside(graph, run, graph.up)} graph={graph} />
      {segments.length > 0 && (
        <ul aria-label={`Segments of ${run.label}`}>
          {segments.map((id) => {
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
      )}
      <Tables title="Writes" nodes={beside(graph, run, graph.down)} graph={graph} />
    </>
  );
}

function beside(graph: Graph, run: Drawn, edges: Map<string, Set<string>>): Drawn[] {
  const ids = [run.id, ...(graph.segments.get(run.id) ?? [])].flatMap((id) => [...(edges.get(id) ?? [])]);
  return [...new Set(ids)].map((id) => graph.nodes.get(id)).filter((node): node is Drawn => node?.kind === "table");
}

function Tables({ title, nodes, graph }: { title: string; nodes: Drawn[]; graph: Graph }) {
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
