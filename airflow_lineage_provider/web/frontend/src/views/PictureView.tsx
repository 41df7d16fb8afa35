import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo } from "react";

import { Trouble, Waiting } from "../Trouble";
import { api } from "../api";
import { PictureList } from "../picture/PictureList";
import { graphOf } from "../picture/graph";
import { Lines } from "../Lines";
import { hashOf, permalink, type View } from "../place";
import { saveJson } from "../save";

const Flow = lazy(() => import("../picture/Flow").then((found) => ({ default: found.Flow })));

/** A DAG run as one picture, or as a list. */
export function PictureView({ dagId, dagRunId, view }: { dagId: string; dagRunId: string; view: View }) {
  const found = useQuery({ queryKey: ["picture", dagId, dagRunId], queryFn: ({ signal }) => api.picture(dagId, dagRunId, signal) });
  const graph = useMemo(() => (found.data ? graphOf(found.data) : undefined), [found.data]);
  const asList = view["as"] === "list";
  if (found.error) return <Trouble error={found.error} />;
  if (!graph || !found.data) return <Waiting what="Drawing" />;
  if (!graph.nodes.size) return <p>This DAG run has recorded no lineage that you may see.</p>;
  return (
    <>
      <p className="bar">
        <a href={hashOf({ part: "picture", as: asList ? "" : "list" })}>{asList ? "As a picture" : "As a list"}</a>
        <a href={permalink(view)}>Link to this</a>
        <button type="button" onClick={() => saveJson(`picture-${dagId}-${dagRunId}`, found.data)}>
          Save JSON
        </button>
        <span className="legend">
          <span className="key kept" /> stored <span className="key non_d" /> Non-D-segment <span className="key d" /> D-segment <span className="key table" /> table
        </span>
      </p>
      {found.data.problems.map((one) => (
        <p key={one} className="notice">
          {one}
        </p>
      ))}
      {asList ? (
        <PictureList graph={graph} />
      ) : (
        <Suspense fallback={<Waiting what="Drawing" />}>
          <Flow graph={graph} view={view} />
        </Suspense>
      )}
      <Lines ask={found.data.ask} title="The same in a shell, and in Python:" />
    </>
  );
}
