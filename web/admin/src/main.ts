import "../../shared/ui/base.css";
import "../../shared/ui/organiser.css";
import "../../shared/ui/print.css";
import { mount } from "svelte";
import App from "./App.svelte";
import { beginTheme } from "./state/theme.svelte";

// The theme is set before anything is drawn.
beginTheme();
const target = document.getElementById("app");
if (target) mount(App, { target });
