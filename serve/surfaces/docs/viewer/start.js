"use strict";

// The look follows that of the system, as on all pages.
const dark = matchMedia("(prefers-color-scheme: dark)");
const look = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", look);
look();

// The path of an operation stands in the button that unfolds it: a link there would be a control in a control.
const PathsAreText = {
  wrapComponents: {
    DeepLink: (_, system) => props => system.React.createElement("span", { className: "nostyle" }, props.text),
  },
};

// The viewer draws fields and regions without a name, and areas that scroll but take no focus.
const viewer = document.getElementById("viewer");
const complete = () => {
  for (const one of viewer.querySelectorAll("select:not([aria-label])")) {
    const row = one.closest("[data-param-name]");
    one.setAttribute("aria-label", row ? row.dataset.paramName : one.id === "servers" ? "Server" : "Example");
  }
  for (const one of viewer.querySelectorAll(".microlight, table")) one.tabIndex = 0;
  for (const [part, name] of Object.entries({ ".information-container": "About", ".scheme-container": "Server and keys" })) {
    const one = viewer.querySelector(part);
    one?.setAttribute("role", "region");
    one?.setAttribute("aria-label", name);
  }
};
new MutationObserver(complete).observe(viewer, { childList: true, subtree: true });

// Nothing is validated or fetched elsewhere, and a key is forgotten when the page is left.
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#viewer",
  validatorUrl: null,
  persistAuthorization: false,
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [PathsAreText],
  layout: "BaseLayout",
});
