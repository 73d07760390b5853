"use strict";

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
  layout: "BaseLayout",
});
