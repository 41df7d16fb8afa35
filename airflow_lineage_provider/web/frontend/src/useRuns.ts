import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";

import { api } from "./api";

/** Runs that are wanted, page by page. */
export function useRuns(asked: Record<string, string | undefined>) {
  const found = useInfiniteQuery({
    queryKey: ["runs", asked],
    queryFn: ({ pageParam, signal }) => api.runs({ ...asked, before: pageParam, limit: "50" }, signal),
    placeholderData: keepPreviousData,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  });
  return { ...found, runs: found.data?.pages.flatMap((page) => page.runs) ?? [] };
}
