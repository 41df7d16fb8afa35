import { context, useView } from "./place";
import { Home } from "./views/Home";
import { RunView } from "./views/RunView";
import { RunsOf } from "./views/RunsOf";

export function App() {
  const view = useView();
  const place = context();
  const chosen = view["run"];
  return (
    <main>
      {chosen ? <RunView id={chosen} key={chosen} /> : place.dagId ? <RunsOf place={place} /> : <Home />}
    </main>
  );
}
