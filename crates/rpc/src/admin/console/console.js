// The console: one page, whose address names what it shows.

import { Failure, token } from "./api.js";
import { captures } from "./captures.js";
import { element } from "./parts.js";
import * as pages from "./pages.js";
import { form, services } from "./services.js";

/** Milliseconds between two looks. */
const PAUSE = 1000;

const page = document.getElementById("page");
const state = document.getElementById("state");

/** Pages that change by themselves; the others keep what was typed. */
const LIVE = {
  overview: pages.overview,
  methods: pages.methods,
  method: pages.method,
  calls: pages.calls,
  connections: pages.connections,
  recent: pages.recent,
  limits: pages.limits,
  servers: pages.servers,
};

const STILL = { call: form, captures, configuration: pages.configuration, services };

/** The page in the menu of one that is not there itself. */
const PARENTS = { method: "methods", call: "services" };

/** Ends what the page that is left has begun. */
let leave = new AbortController();

let turn = 0;

function place() {
  const [which, argument = ""] = (location.hash.slice(1) || "overview").split("=");
  return { which: LIVE[which] || STILL[which] ? which : "overview", argument: decodeURIComponent(argument) };
}

function fail(error) {
  state.textContent = error.message;
  state.className = "bad";
  if (error instanceof Failure && error.code === "unauthenticated") page.replaceChildren(login());
}

/** Asks who looks. The token stays in this tab. */
function login() {
  const input = element("input", { type: "password", "aria-label": "token", autocomplete: "off" });
  const enter = (event) => {
    event.preventDefault();
    token.set(input.value);
    show();
  };
  return element("form", { class: "inputs", onsubmit: enter }, input, element("button", {}, "use this token"));
}

/** Waits for a change, and shows the page again. */
const again = (change) => change.then(show, fail);

/** Shows the page that the address names. */
async function show() {
  const mine = ++turn;
  const { which, argument } = place();
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${PARENTS[which] || which}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  try {
    const children = await (LIVE[which] || STILL[which])(argument, again, leave.signal);
    if (mine !== turn) return;
    page.replaceChildren(...children);
    state.textContent = location.host;
    state.className = "";
  } catch (error) {
    if (mine === turn) fail(error);
  }
}

window.addEventListener("hashchange", () => {
  leave.abort();
  leave = new AbortController();
  show();
  page.focus();
});
show();
// A button keeps its focus.
setInterval(() => {
  const busy = page.contains(document.activeElement) && document.activeElement !== page;
  if (!document.hidden && !busy && LIVE[place().which]) show();
}, PAUSE);
