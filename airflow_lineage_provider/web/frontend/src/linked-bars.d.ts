// `render/templates/linked_bars.js`, which pages of linked views have as well.
declare module "linked-bars" {
  export interface DrawnView {
    name: string;
    labels: string[];
    totals: ArrayLike<number>;
    axis: { left: number[]; wide: number; ticks: [number, string][] } | null;
    most: number;
    counts: Uint32Array;
    chosen: Set<number> | null;
  }

  interface Doing {
    brush: (chosen: Set<number> | null) => void;
    why?: (bar: number) => HTMLElement | null;
    signal?: AbortSignal;
  }

  export function barsOf(view: DrawnView, box: HTMLElement, doing: Doing): () => void;
}
