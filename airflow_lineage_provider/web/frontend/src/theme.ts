// Airflow's UI says its theme as a class of its root element; the tab stands in a frame of the same origin. Alone in a window it has the
// system's theme.

export type Theme = "light" | "dark";

function ofAirflow(): Theme | undefined {
  try {
    if (window.parent === window) return undefined;
    const classes = window.parent.document.documentElement.classList;
    return classes.contains("dark") ? "dark" : classes.contains("light") ? "light" : undefined;
  } catch {
    return undefined; // framed by a page of another origin
  }
}

export function currentTheme(): Theme {
  return ofAirflow() ?? (window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

/** The tokens of Airflow's UI that badges are coloured by. */
const STATES = ["success", "running", "failed", "warning"].flatMap((state) => [`${state}-fg`, `${state}-subtle`]);

/** Takes over what Airflow's UI has for states, also where its colours were configured; alone, or under another UI, the style sheet's stay. */
function takeColours(): void {
  const theirs = ofAirflow() ? window.parent.getComputedStyle(window.parent.document.documentElement) : undefined;
  const own = document.documentElement.style;
  for (const token of STATES) {
    const value = theirs?.getPropertyValue(`--chakra-colors-${token}`).trim();
    if (value) own.setProperty(`--${token}`, value);
    else own.removeProperty(`--${token}`);
  }
}

export function followTheme(): void {
  const apply = () => {
    document.documentElement.dataset["theme"] = currentTheme();
    takeColours();
    window.dispatchEvent(new Event("themechange"));
  };
  apply();
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  if (ofAirflow()) {
    new MutationObserver(apply).observe(window.parent.document.documentElement, { attributeFilter: ["class"] });
  }
}
