import { fileURLToPath } from "node:url";

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const drawn = fileURLToPath(new URL("../../render/templates/linked_bars", import.meta.url));

// Relative addresses: the tab stands below whatever path Airflow is served at. Bars are those of pages of linked views.
export default defineConfig({
  base: "./",
  plugins: [react()],
  resolve: { alias: [{ find: /^linked-bars$/, replacement: `${drawn}.js` }, { find: /^linked-bars\.css$/, replacement: `${drawn}.css` }] },
  build: { outDir: "../built", emptyOutDir: true, target: "es2022", modulePreload: { polyfill: false } },
});
