"use strict";

// Light or dark, as the system is, like all pages.
const dark = matchMedia("(prefers-color-scheme: dark)");
const look = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", look);
look();

// The path of an operation is inside the button that unfolds it: a link there would be a control in a control.
const PathsAreText = {
  wrapComponents: {
    DeepLink: (_, system) => props => system.React.createElement("span", { className: "nostyle" }, props.text),
  },
};

// The viewer draws fields and regions without a name, and scrollable areas that cannot have the focus.
const viewer = document.getElementById("viewer");
const complete = () => {
  for (const select of viewer.querySelectorAll("select:not([aria-label])")) {
    const row = select.closest("[data-param-name]");
    select.setAttribute("aria-label", row ? row.dataset.paramName : select.id === "servers" ? "Server" : "Example");
  }
  for (const area of viewer.querySelectorAll(".microlight, table")) area.tabIndex = 0;
  for (const [part, name] of Object.entries({ ".information-container": "About", ".scheme-container": "Server and keys" })) {
    const region = viewer.querySelector(part);
    region?.setAttribute("role", "region");
    region?.setAttribute("aria-label", name);
  }
};
new MutationObserver(complete).observe(viewer, { childList: true, subtree: true });

// The page sends nothing to a validator, and forgets a key when it is left.
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
