// A layout for thousands of nodes, for which dagre takes a minute: columns by the longest way from a source, and in a column the order of
// what is beside it.

interface Size {
  width: number;
  height: number;
}

const BETWEEN = 90;
const APART = 26;
const SWEEPS = 4;

/** The left upper corner of each node; `turned`: in rows instead. */
export function inLayers(given: Map<string, Size>, edges: [string, string][], turned: boolean): Map<string, { x: number; y: number }> {
  const sizes = turned ? new Map([...given].map(([id, size]) => [id, { width: size.height, height: size.width }])) : given;
  const [down, up] = [neighbours(edges, 0, 1), neighbours(edges, 1, 0)];
  const columns = columnsOf([...sizes.keys()], down, up);
  const order = new Map<string, number>();
  for (const column of columns) column.forEach((id, at) => order.set(id, at));
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const beside = sweep % 2 ? down : up;
    for (const column of sweep % 2 ? [...columns].reverse() : columns) sorted(column, beside, order);
  }
  const found = new Map<string, { x: number; y: number }>();
  let x = 0;
  for (const column of columns) {
    const all = column.reduce((sum, id) => sum + (sizes.get(id)?.height ?? 0) + APART, 0);
    let y = -all / 2;
    for (const id of column) {
      found.set(id, turned ? { x: y, y: x } : { x, y });
      y += (sizes.get(id)?.height ?? 0) + APART;
    }
    x += Math.max(...column.map((id) => sizes.get(id)?.width ?? 0)) + BETWEEN;
  }
  return found;
}

function neighbours(edges: [string, string][], from: 0 | 1, to: 0 | 1): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const edge of edges) {
    const known = found.get(edge[from]);
    if (known) known.push(edge[to]);
    else found.set(edge[from], [edge[to]]);
  }
  return found;
}

/** A table that a run reads and writes again makes a ring: what is left of one goes behind all else. */
function columnsOf(ids: string[], down: Map<string, string[]>, up: Map<string, string[]>): string[][] {
  const waiting = new Map(ids.map((id) => [id, up.get(id)?.length ?? 0]));
  const depth = new Map<string, number>();
  const ready = ids.filter((id) => !waiting.get(id));
  for (const id of ready) depth.set(id, 0);
  for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
    for (const next of down.get(id) ?? []) {
      depth.set(next, Math.max(depth.get(next) ?? 0, (depth.get(id) ?? 0) + 1));
      const left = (waiting.get(next) ?? 0) - 1;
      waiting.set(next, left);
      if (left === 0) ready.push(next);
    }
  }
  const columns: string[][] = [];
  for (const id of ids) (columns[depth.get(id) ?? 0] ??= []).push(id);
  return columns.filter((column) => column !== undefined);
}

function sorted(column: string[], beside: Map<string, string[]>, order: Map<string, number>): void {
  const middle = new Map(
    column.map((id) => {
      const places = (beside.get(id) ?? []).map((one) => order.get(one) ?? 0);
      return [id, places.length ? places.reduce((sum, one) => sum + one, 0) / places.length : (order.get(id) ?? 0)];
    }),
  );
  column.sort((a, b) => (middle.get(a) ?? 0) - (middle.get(b) ?? 0));
  column.forEach((id, at) => order.set(id, at));
}
