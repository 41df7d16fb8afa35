import { Background, Controls, MarkerType, ReactFlow, ReactFlowProvider, useReactFlow, type Edge, type NodeChange } from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { useEffect, useMemo, useRef, useState } from "react";

import { become, hashOf, type View } from "../place";
import { currentTheme } from "../theme";
import { edgesOf, everything, hidden, opening, outer, type Graph } from "./graph";
import { folded, groupOf, groupsOf } from "./groups";
import { MANY, placed } from "./layout";
import { Box, type Shown } from "./nodes";
import { atFirst, countOf, ofView, relatedOf, toView, visibleOf, type ShownParts } from "./shown";
import { said, told } from "./words";

const TYPES = { box: Box };

export function Flow({ graph, view }: { graph: Graph; view: View }) {
  return (
    <ReactFlowProvider>
      <Inside whole={graph} view={view} />
    </ReactFlowProvider>
  );
}

/** The picture: opens at one hop, and grows where something is chosen. What is outside the window is not drawn. */
function Inside({ whole, view }: { whole: Graph; view: View }) {
  const groups = useMemo(() => groupsOf(whole), [whole]);
  const parts = useMemo(() => ofView(whole, groups, view), [whole, groups, view]);
  const change = (next: Partial<ShownParts>) => become(toView(whole, { ...parts, ...next }));
  const opened = [...parts.each].join("\n");
  const picture = useMemo(() => folded(whole, groups, new Set(opened.split("\n"))), [whole, groups, opened]);
  const graph = picture.drawn;
  const visible = useMemo(() => visibleOf(picture, parts), [picture, parts]);
  const { open } = parts;
  const chosen = parts.chosen === undefined ? undefined : picture.at(parts.chosen);
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
  const near = useMemo(() => (chosen === undefined ? undefined : relatedOf(picture, chosen)), [picture, chosen]);
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
    if (groups.has(one.id)) return showEach(one.id);
    change({ chosen: one.id, steps: hidden(graph, visible, outer(graph, one.id)) ? [...parts.steps, one.id] : parts.steps });
  };
  // What has more than one member is opened by a click, too; its box is gone then, and so is the focus that it had.
  const button = useRef<HTMLButtonElement>(null);
  const [toFocus, setToFocus] = useState(false);
  const showEach = (id: string) => {
    const members = groups.get(id)?.members ?? [];
    change({ chosen: id, each: new Set([...parts.each, id]), steps: [...parts.steps, id] });
    setToFit(visible.size + members.length > MANY ? (members[0] ?? "all") : "all");
    setToFocus(true);
  };
  const showAsOne = (id: string) => {
    change({ chosen: id, each: new Set([...parts.each].filter((one) => one !== id)) });
    setToFit("all");
    setToFocus(true);
  };
  useEffect(() => {
    if (!toFocus) return;
    // (Later: the key that opened the box would press the button, too.)
    window.setTimeout(() => button.current?.focus({ preventScroll: true }));
    setToFocus(false);
  }, [toFocus]);
  // Thousands of nodes are not looked at together: then the picture is at one of them, where it began, say.
  const [toFit, setToFit] = useState<string>();
  useEffect(() => {
    if (toFit === undefined) return;
    const at = drawn.find(([id]) => id === toFit)?.[1];
    if (!at) void flow.fitView({ maxZoom: 1, padding: 0.1 });
    else void flow.setCenter(at.x + at.width / 2, at.y + at.height / 2, { zoom: 0.6 });
    setToFit(undefined);
  }, [toFit, drawn, flow]);
  const toggle = (run: string) => change({ open: new Set(open.has(run) ? [...open].filter((one) => one !== run) : [...open, run]) });
  const all = useMemo(() => everything(graph), [graph]);
  const node = chosen === undefined ? undefined : (graph.nodes.get(chosen) ?? groups.get(chosen));
  const group = chosen === undefined ? undefined : groupOf(picture, chosen);
  const [shown, of] = [countOf(picture, visible), countOf(picture, all)];
  const start = opening(whole);
  return (
    <>
      <div className="bar">
        <button type="button" disabled={visible.size === all.size} onClick={() => (change({ all: true }), setToFit(all.size > MANY && start !== undefined ? picture.at(start) : "all"))}>
          Show all {of.nodes}
        </button>
        <button type="button" onClick={() => (change(atFirst(whole)), setToFit("all"))}>
          Start again
        </button>
        <span className="note" role="status">
          {shown.nodes} of {of.nodes} runs and tables are shown
          {shown.boxes > 0 && `, ${shown.nodes - visible.size + shown.boxes} of them in ${shown.boxes} box${shown.boxes > 1 ? "es" : ""}`}.
        </span>
      </div>
      <div className="picture" role="region" aria-label="The DAG run's pipelines and tables">
        <ReactFlow
          nodes={nodes}
          edges={edges}
          nodeTypes={TYPES}
          onNodesChange={changed}
          onNodeClick={(_, { id }) => id === chosen && groups.has(id) && showEach(id)}
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
              {group && (
                <button type="button" ref={button} onClick={() => (parts.each.has(group.id) ? showAsOne(group.id) : showEach(group.id))}>
                  {parts.each.has(group.id) ? `Show ${group.label} as one` : `Show each of ${group.label}`}
                </button>
              )}
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
