// A program of a TypeScript user: openapi-fetch with the types that openapi-typescript generates.
//
//     node use_client.js ADDRESS KEY
//
// test_typescript.py checks it with `tsc --strict`, then runs it.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const [address, key] = process.argv.slice(2);
assert(address && key);

const visitor = createClient<paths>({ baseUrl: address });
const caller = createClient<paths>({
  baseUrl: address,
  headers: { Authorization: `Bearer ${key}` },
});
const stranger = createClient<paths>({
  baseUrl: address,
  headers: { Authorization: "Bearer soc_live_unknown" },
});

const countries = await visitor.GET("/api/v1/pays");
assert.equal(countries.data?.pays.length, 25);

const preview = await visitor.GET("/api/v1/societes", {
  params: { query: { pays: "EE,UK", q: "steel" } },
});
assert.equal(preview.data?.apercu, true);
const names: (string | undefined)[] = preview.data.societes.map((company) => company.nom);
assert.equal(names.length, 2);

const page = await caller.GET("/api/v1/societes", {
  params: { query: { pays: "UK", tri: "nom", limit: 3 } },
});
assert.equal(page.data?.plan, "data");

const wrong = await visitor.GET("/api/v1/societes", { params: { query: { pays: "EL" } } });
assert(wrong.error && "erreur" in wrong.error && "pays_inconnus" in wrong.error);
assert.deepEqual(wrong.error.pays_inconnus, ["EL"]);

// The body of a 401 is an error and a page: both are typed.
const refused = await stranger.GET("/api/v1/societes");
assert.equal(refused.response.status, 401);
assert(refused.error && "societes" in refused.error);
const shown: components["schemas"]["Societe"][] = refused.error.societes;
assert.equal(shown.length, 2);

const record = await caller.GET("/api/v1/societes/{iso}/{id}", {
  params: { path: { iso: "UK", id: "09418436" } },
});
assert(record.data?.comptes && record.data.comptes.length > 0);
assert.equal(record.response.headers.get("X-Credits-Debites"), "5");

const workbook = await caller.POST("/api/v1/export", {
  body: { q: "steel", limit: 5, lang: "en" },
  parseAs: "arrayBuffer",
});
const bytes: unknown = workbook.data;
assert(bytes instanceof ArrayBuffer);
assert.equal(new TextDecoder().decode(bytes.slice(0, 2)), "PK");
