// `use_client.mjs PACKAGE URL KEY [MODE]`: use the tools with the official client for TypeScript.
// PACKAGE is `client` (2.x) or `sdk` (1.x).
// The output is the results as JSON.
const [, , name, url, key, mode] = process.argv;

const loaded =
  name === 'sdk'
    ? {
        ...(await import('@modelcontextprotocol/sdk/client/index.js')),
        ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
      }
    : await import('@modelcontextprotocol/client');
const client = new loaded.Client(
  { name: 'judge', version: '1.0.0' },
  mode ? { versionNegotiation: { mode } } : {},
);
const headers = { Authorization: `Bearer ${key}` };
const transport = new loaded.StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
await client.connect(transport);
const { tools } = await client.listTools();
const call = (pays, rest) =>
  client.callTool({ name: 'search_companies', arguments: { pays: [pays], ...rest } });
const result = await call('EE', { limit: 3 });
const wrong = await call('EST', {});
const seen = {
  version: client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion,
  tools: tools.map((tool) => tool.name),
  result: result.structuredContent,
  wrong: wrong.isError ? wrong.content[0].text : null,
};
await client.close();
process.stdout.write(JSON.stringify(seen));
