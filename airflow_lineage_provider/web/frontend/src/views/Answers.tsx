import { useQuery } from "@tanstack/react-query";

import { Trouble, Waiting } from "../Trouble";
import { api } from "../api";
import { hashOf, type View } from "../place";
import { askedText, chunkText, seconds, when } from "../words";
import { Answer } from "./Answer";
import { AskedView } from "./AskedView";
import { SHOWN, SourceRowsOf } from "./SourceRowsOf";

/** Answers about the run that were kept: by operators, in Python, by the command. */
export function Answers({ id, view }: { id: string; view: View }) {
  const found = useQuery({ queryKey: ["derivations", id], queryFn: ({ signal }) => api.derivations(id, signal) });
  const chosen = view["answer"];
  if (chosen) {
    return (
      <Answer
        name={chosen}
        queryKey={["derivation", chosen]}
        ask={(form, signal) => api.derivation(chosen, form, signal)}
        file={(table, form) => api.derivationFile(chosen, table, form)}
        close={hashOf({ run: id, part: "answers" })}
        link={view}
      >
        <SourceRowsOf
          id={id}
          queryKey={["derivation", chosen, "sources"]}
          ask={(signal) => api.derivationSources(chosen, SHOWN, signal)}
          one={(table, row) => ({ table, derivation: chosen, row })}
          view={view}
        />
      </Answer>
    );
  }
  if (view["asked"] && view["dag"]) return <AskedView id={id} dagId={view["dag"]} dagRunId={view["asked"]} />;
  if (found.error) return <Trouble error={found.error} />;
  if (!found.data) return <Waiting what="Looking for answers" />;
  if (!found.data.derivations.length) {
    return (
      <p>
        None is stored yet. <code>DeriveAugmentedLineageOperator</code>, <code>explain</code> in Python and the command keep theirs.
      </p>
    );
  }
  return (
    <table className="runs">
      <caption>Stored answers, newest first</caption>
      <thead>
        <tr>
          <th scope="col">Asked</th>
          <th scope="col">When</th>
          <th scope="col" className="n">
            Took
          </th>
        </tr>
      </thead>
      <tbody>
        {found.data.derivations.map((one) => (
          <tr key={one.id}>
            <th scope="row">
              <a href={hashOf({ run: id, part: "answers", answer: one.id })}>{askedText(one)}</a>
              {chunkText(one.chunk)}
            </th>
            <td className="t">{when(one.created)}</td>
            <td className="n">{seconds(one.seconds)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
