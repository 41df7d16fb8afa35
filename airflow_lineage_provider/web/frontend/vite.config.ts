import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// Relative addresses: the tab stands below whatever path Airflow is served at.
export default defineConfig({
  base: "./",
  plugins: [react()],
  build: { outDir: "../built", emptyOutDir: true, target: "es2022", modulePreload: { polyfill: false } },
});
