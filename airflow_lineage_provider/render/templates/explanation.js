// Searching decisions. The page is whole without it: outcomes are links, and nothing is drawn by script.
for (const box of document.querySelectorAll("[data-search]")) {
  const cards = [...document.getElementById(box.dataset.search).querySelectorAll(".decision")];
  const texts = cards.map((card) => card.textContent.toLowerCase());
  const [input, told] = [box.querySelector("input"), box.querySelector("output")];
  box.hidden = false;
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = texts.map((text) => words.every((word) => text.includes(word)));
    cards.forEach((card, at) => { card.hidden = !found[at]; });
    told.textContent = words.length ? `${found.filter(Boolean).length} of ${cards.length} shown` : "";
  });
}
