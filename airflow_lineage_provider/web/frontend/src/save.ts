/** Save a file that the page has. */
export function save(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export function saveJson(name: string, value: unknown): void {
  save(`${name}.json`, new Blob([JSON.stringify(value, null, 1)], { type: "application/json" }));
}
