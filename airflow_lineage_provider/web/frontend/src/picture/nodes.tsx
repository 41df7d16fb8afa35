import { Handle, Position, type Node, type NodeProps } from "@xyflow/react";

import type { Drawn } from "./graph";
import { isNarrow } from "./layout";
import { said } from "./words";

export type Shown = Node<{ node: Drawn; more: number; faded: boolean; open: boolean }>;

/** A run, a table or a segment in the picture. */
export function Box({ data }: NodeProps<Shown>) {
  const { node, more, faded, open } = data;
  return (
    <div className={["box", node.kind, node.segment_kind ?? "", node.stored ? "kept" : "", node.members ? "group" : "", faded ? "faded" : "", open ? "open" : "", node.is_own ? "" : "other"].join(" ")}>
      <Handle type="target" position={isNarrow() ? Position.Top : Position.Left} isConnectable={false} />
      <div className="head">
        <strong>{node.label}</strong>
        <small>{said(node)}</small>
      </div>
      {more > 0 && <span className="more">+{more}</span>}
      <Handle type="source" position={isNarrow() ? Position.Bottom : Position.Right} isConnectable={false} />
    </div>
  );
}
