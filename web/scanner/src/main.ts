import { mount } from "svelte";
import "../../shared/ui/base.css";
import "./scanner.css";
import App from "./App.svelte";
import { keepApp } from "./state/kept.ts";
import { scanner } from "./state/scanner.svelte.ts";

const target = document.getElementById("app");
if (target === null) throw new Error("the page lacks its #app element");
mount(App, { target });

if (import.meta.env.PROD && "serviceWorker" in navigator) {
  const container = navigator.serviceWorker;
  const register = () => container.register(`${import.meta.env.BASE_URL}sw.js`);
  keepApp({ register, controlled: container.controller !== null, window, document }, (kept) => (scanner.kept = kept));
} else {
  scanner.kept = "never";
}
