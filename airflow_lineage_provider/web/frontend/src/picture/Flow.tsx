import { Background, Controls, MarkerType, ReactFlow, ReactFlowProvider, useReactFlow, type Edge, type NodeChange } from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { useEffect, useMemo, useState } from "react";

import { become, hashOf, type View } from "../place";
import { currentTheme } from "../theme";
import { edgesOf, everything, hidden, opening, outer, related, type Graph } from "./graph";
import { MANY, placed } from "./layout";
import { Box, type Shown } from "./nodes";
import { atFirst, ofView, toView, visibleOf, type ShownParts } from "./shown";
import { said, told } from "./words";

const TYPES = { box: Box };

export function Flow({ graph, view }: { graph: Graph; view: View }) {
  return (
    <ReactFlowProvider>
      <Inside graph={graph} view={view} />
    </ReactFlowProvider>
  );
}

/** The picture: opens at one hop, and grows where something is chosen. What is outside the window is not drawn. */
function Inside({ graph, view }: { graph: Graph; view: View }) {
  const start = useMemo(() => opening(graph), [graph]);
  const parts = useMemo(() => ofView(graph, view), [graph, view]);
  const change = (next: Partial<ShownParts>) => become(toView(graph, { ...parts, ...next }));
  const visible = useMemo(() => visibleOf(graph, parts), [graph, parts]);
  const { open, chosen } = parts;
  const [theme, setTheme] = useState(currentTheme);
  const flow = useReactFlow();
  useEffect(() => {
    const changed = () => setTheme(currentTheme());
    window.addEventListener("themechange", changed);
    return () => window.removeEventListener("themechange", changed);
  }, []);
  const { nodes: drawn, edges: lines } = useMemo(() => {
    const edges = edgesOf(graph, visible, open);
    return { nodes: [...placed(graph, visible, open, edges)], edges };
  }, [graph, visible, open]);
  const near = useMemo(() => (chosen === undefined ? undefined : related(graph, chosen)), [graph, chosen]);
  const nodes = useMemo(
    () =>
      drawn.flatMap(([id, place]): Shown[] => {
        const node = graph.nodes.get(id);
        if (!node) return [];
        const more = node.parent ? 0 : hidden(graph, visible, id);
        return [
          {
            id,
            type: "box",
            position: { x: place.x, y: place.y },
            width: place.width,
            height: place.height,
            ...(node.parent ? { parentId: node.parent } : {}),
            zIndex: node.parent ? 2 : 1,
            selected: id === chosen,
            ariaLabel: told(node, more),
            data: { node, more, faded: near !== undefined && !near.has(id), open: open.has(id) && graph.segments.has(id) },
          },
        ];
      })
      // React Flow wants parents first.
      .sort((a, b) => Number(Boolean(a.parentId)) - Number(Boolean(b.parentId))),
    [graph, drawn, visible, open, chosen, near],
  );
  const edges = useMemo(
    () =>
      lines.map(([source, target]): Edge => {
        const faded = near !== undefined && !(near.has(source) && near.has(target));
        return { id: `${source}→${target}`, source, target, focusable: false, zIndex: 3, className: faded ? "faded" : near ? "near" : "", markerEnd: { type: MarkerType.ArrowClosed } };
      }),
    [lines, near],
  );
  // A click chooses, and so does Enter on a node that has the focus.
  const changed = (changes: NodeChange<Shown>[]) => {
    const one = changes.find((change) => change.type === "select" && change.selected);
    if (one?.type !== "select" || one.id === chosen) return;
    change({ chosen: one.id, steps: hidden(graph, visible, outer(graph, one.id)) ? [...parts.steps, one.id] : parts.steps });
  };
  // Thousands of nodes are not looked at together: then the picture stays where it began.
  const [toFit, setToFit] = useState<"all" | "start">();
  useEffect(() => {
    if (toFit === undefined) return;
    const at = drawn.find(([id]) => id === start.start)?.[1];
    if (toFit === "all" || !at) void flow.fitView({ maxZoom: 1, padding: 0.1 });
    else void flow.setCenter(at.x + at.width / 2, at.y + at.height / 2, { zoom: 0.6 });
    setToFit(undefined);
  }, [toFit, drawn, flow, start]);
  const toggle = (run: string) => change({ open: new Set(open.has(run) ? [...open].filter((one) => one !== run) : [...open, run]) });
  const all = useMemo(() => everything(graph), [graph]);
  const node = chosen === undefined ? undefined : graph.nodes.get(chosen);
  return (
    <>
      <div className="bar">
        <button type="button" disabled={visible.size === all.size} onClick={() => (change({ all: true }), setToFit(all.size > MANY ? "start" : "all"))}>
          Show all {all.size}
        </button>
        <button type="button" onClick={() => (change(atFirst(graph)), setToFit("all"))}>
          Start again
        </button>
        <span className="note" role="status">
          {visible.size} of {all.size} runs and tables are shown.
        </span>
      </div>
      <div className="picture" role="region" aria-label="The DAG run's pipelines and tables">
        <ReactFlow
          nodes={nodes}
          edges={edges}
          nodeTypes={TYPES}
          onNodesChange={changed}
          onPaneClick={() => change({ chosen: undefined })}
          colorMode={theme}
          onlyRenderVisibleElements
          nodesDraggable={false}
          nodesConnectable={false}
          deleteKeyCode={null}
          fitView
          fitViewOptions={{ maxZoom: 1, padding: 0.1 }}
          minZoom={0.05}
        >
          <Background />
          <Controls showInteractive={false} />
        </ReactFlow>
      </div>
      <div className="chosen-node" aria-live="polite">
        {node ? (
          <>
            <p>
              <strong>{node.label}</strong> {said(node)} {node.detail && <code>{node.detail}</code>}
            </p>
            <p className="bar">
              {node.run_id && <a href={hashOf({ run: node.run_id })}>Open {node.kind === "table" ? "the run that wrote it" : "the run"}</a>}
              {graph.segments.has(node.id) && (
                <button type="button" onClick={() => toggle(node.id)}>
                  {open.has(node.id) ? "Hide" : "Show"} its segments
                </button>
              )}
            </p>
          </>
        ) : (
          <p className="note">Choose a run, a table or a segment: what is beside it appears, and what it comes from and goes to stands out.</p>
        )}
      </div>
    </>
  );
}
