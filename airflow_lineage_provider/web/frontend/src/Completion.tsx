import { named } from "./words";

/** What completes the word that is being written in a predicate: the browser offers whole texts, so each has what stands before it. */
export function Completion({ id, typed, columns }: { id: string; typed: string; columns: string[] }) {
  const before = typed.slice(0, begun(typed));
  return (
    <datalist id={id}>
      {columns.map((name) => (
        <option key={name} value={before + named(name)} />
      ))}
    </datalist>
  );
}

/** Where the name begins that is being written: at a backtick that is not closed, or with its letters. */
function begun(typed: string): number {
  const open = typed.split("`").length % 2 === 0;
  return open ? typed.lastIndexOf("`") : typed.length - (/[\p{L}\p{N}_]*$/u.exec(typed)?.[0].length ?? 0);
}
