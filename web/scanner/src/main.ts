import { mount } from "svelte";
import "../../shared/ui/base.css";
import "./scanner.css";
import App from "./App.svelte";

const target = document.getElementById("app");
if (target === null) throw new Error("the page lacks its #app element");
mount(App, { target });

const HOUR_MS = 3_600_000;

// The worker only keeps files; a new one waits until the app is opened afresh, so no scan meets a half-changed app.
if (import.meta.env.PROD && "serviceWorker" in navigator) {
  navigator.serviceWorker.register(`${import.meta.env.BASE_URL}sw.js`).then(
    (registration) => {
      let asked = Date.now();
      document.addEventListener("visibilitychange", () => {
        if (document.visibilityState !== "visible" || Date.now() - asked < HOUR_MS) return;
        asked = Date.now();
        void registration.update().catch(() => {});
      });
    },
    () => {
      // Private windows and old browsers: the scanner works, but not from a cold start without a network.
    },
  );
}
