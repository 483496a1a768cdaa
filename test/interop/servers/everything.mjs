// The reference server "everything" (revisions up to 2025-11-25 only, TypeScript SDK
// version 1) with one tool more. Its own tools ask at most once in a call;
// "interview" asks three times, each question made of the answer before.
//
//   node everything.mjs stdio
//   node everything.mjs http PORT

import { randomUUID } from 'node:crypto';
import { createServer as createHttpServer } from 'node:http';
import { peer } from '../lib/peers.mjs';

const { createServer } = await peer('@modelcontextprotocol/server-everything/dist/server/index.js');
const { StdioServerTransport } = await peer('@modelcontextprotocol/sdk/dist/esm/server/stdio.js');
const { StreamableHTTPServerTransport } = await peer('@modelcontextprotocol/sdk/dist/esm/server/streamableHttp.js');
const { CreateMessageResultSchema, ElicitResultSchema } = await peer('@modelcontextprotocol/sdk/dist/esm/types.js');
const { z } = await peer('zod/index.js');

function build() {
  const made = createServer();
  made.server.registerTool('interview', { description: 'Ask three times', inputSchema: { who: z.string() } }, interview);
  return made;
}

async function interview({ who }, extra) {
  const elicit = async (message) => {
    const requestedSchema = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] };
    const result = await extra.sendRequest({ method: 'elicitation/create', params: { message, requestedSchema } }, ElicitResultSchema);
    return result.content?.answer;
  };
  const sample = async (prompt) => {
    const params = { messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 100 };
    const result = await extra.sendRequest({ method: 'sampling/createMessage', params }, CreateMessageResultSchema);
    return result.content.text;
  };
  const colour = await elicit(`${who}: your colour?`);
  const line = await sample(`${who}: a line about ${colour}`);
  const keep = await elicit(`${who}: keep ${line}?`);
  return { content: [{ type: 'text', text: JSON.stringify({ who, colour, line, keep }) }] };
}

// One transport and server per session, as the reference server itself does it.
async function serveHttp(port) {
  const sessions = new Map();
  const open = async () => {
    const { server, cleanup } = build();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => sessions.set(id, transport),
    });
    server.server.onclose = () => {
      sessions.delete(transport.sessionId);
      cleanup(transport.sessionId);
    };
    await server.connect(transport);
    return transport;
  };
  const http = createHttpServer(async (req, res) => {
    const id = req.headers['mcp-session-id'];
    const transport = id === undefined ? await open() : sessions.get(id);
    if (transport) await transport.handleRequest(req, res);
    else res.writeHead(404).end();
  });
  // Connections are kept: Node closes them after five seconds, on a busy machine also
  // those that a request has just come by.
  http.keepAliveTimeout = 0;
  http.listen(Number(port), '127.0.0.1');
}

const [kind, port] = process.argv.slice(2);
if (kind === 'stdio') await build().server.connect(new StdioServerTransport());
else await serveHttp(port);
