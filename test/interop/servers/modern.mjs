// An MCP server on the official TypeScript server package that speaks 2026-07-28
// and nothing else. It offers what the Go fixtures offer (test/fixtures), so that
// the same checks fit.
//
//   node modern.mjs stdio NAME
//   node modern.mjs http NAME PORT
//
// It needs input by multi round-trip requests: a tool returns what it wants to
// know, and is called again with the answers and the state it gave along.

import { createServer } from 'node:http';
import { peer } from '../lib/peers.mjs';

const { McpServer, ResourceTemplate, acceptedContent, completable, createMcpHandler, inputRequired, inputResponse } =
  await peer('@modelcontextprotocol/server/dist/index.mjs');
const { serveStdio } = await peer('@modelcontextprotocol/server/dist/stdio.mjs');
const { toNodeHandler } = await peer('@modelcontextprotocol/node/dist/index.mjs');
const { z } = await peer('zod/index.js');

const [transport, name, port] = process.argv.slice(2);
const hello = `memo://${name}/hello`;

// What all instances share: over HTTP each request is served by a fresh one.
const shared = { cancelled: 0, added: new Set(), notify: undefined };

const text = (value) => ({ content: [{ type: 'text', text: String(value) }] });
const form = (property) => ({ type: 'object', properties: { [property]: { type: 'string' } }, required: [property] });
const elicit = (message, property) => inputRequired.elicit({ message, requestedSchema: form(property) });
const sample = (prompt) => inputRequired.createMessage({
  messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 100,
});
const sampled = (view) => [view.result.content].flat()[0].text;

function build() {
  const server = new McpServer({ name, version: '1.0.0' }, {
    instructions: `Instructions of ${name}.`,
    capabilities: { logging: {}, resources: { subscribe: true, listChanged: true }, tools: { listChanged: true } },
  });
  const tool = (own, shape, handler) => server.registerTool(own, { description: own, inputSchema: shape }, handler);
  const echo = ({ text: value }) => text(`${name}: ${value}`);
  tool('echo', { text: z.string() }, echo);
  tool('revision', {}, (_, ctx) => text(ctx.mcpReq.envelope?.['io.modelcontextprotocol/protocolVersion'] ?? 'legacy'));
  plain(tool, server, echo);
  asking(tool);
  rounds(tool);
  for (const added of shared.added) tool(added, { text: z.string().optional() }, echo);
  server.registerPrompt('greet', {
    description: 'Greet somebody',
    argsSchema: { name: completable(z.string(), (v) => ['ada', 'alan', 'grace'].filter((n) => n.startsWith(v))) },
  }, ({ name: whom }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `${name} greets ${whom}` } }] }));
  const read = (uri) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: `${name} says ${uri.href}` }] });
  server.registerResource('hello', hello, { mimeType: 'text/plain' }, read);
  server.registerResource('note', new ResourceTemplate(`memo://${name}/note/{id}`, { list: undefined }), { mimeType: 'text/plain' }, read);
  return server;
}

// plain are the tools that ask nothing.
function plain(tool, server, echo) {
  tool('count', { to: z.number() }, async ({ to }, ctx) => {
    for (let i = 1; i <= to; i++) await progress(ctx, i, to);
    return text(`counted to ${to}`);
  });
  tool('wait', {}, (_, ctx) => untilCancelled(ctx));
  tool('cancelled', {}, () => text(shared.cancelled));
  tool('grow', { name: z.string() }, ({ name: added }) => {
    shared.added.add(added);
    // Over HTTP the stream of another request tells of it; this instance ends with its request.
    if (shared.notify) shared.notify.toolsChanged();
    else tool(added, { text: z.string().optional() }, echo);
    return text(`added ${added}`);
  });
  tool('log', { text: z.string() }, async ({ text: value }, ctx) => {
    for (const level of ['debug', 'info', 'warning', 'error']) await ctx.mcpReq.log(level, `${level} ${value}`, name);
    return text('logged');
  });
  tool('touch', {}, async () => {
    if (shared.notify) shared.notify.resourceUpdated(hello);
    else await server.server.sendResourceUpdated({ uri: hello });
    return text('touched');
  });
}

// asking are the tools that need one round of input.
function asking(tool) {
  const ask = (wanted, done) => (args, ctx) => {
    const answers = ctx.mcpReq.inputResponses;
    const requests = wanted(args);
    if (answers && Object.keys(requests).every((key) => key in answers)) return done(answers, ctx);
    return inputRequired({ inputRequests: requests });
  };
  const answer = (answers) => {
    const { action, content } = inputResponse(answers, 'answer');
    return text(action === 'accept' && content ? `${name}: accept ${content.answer}` : `${name}: ${action}`);
  };
  const question = { message: z.string() };
  tool('ask', question, ask(({ message }) => ({ answer: elicit(message, 'answer') }), answer));
  tool('open', { url: z.string(), message: z.string() },
    ask(({ url, message }) => ({ answer: inputRequired.elicitUrl({ url, message }) }), answer));
  tool('sample', { prompt: z.string() }, ask(({ prompt }) => ({ line: sample(prompt) }),
    (answers) => text(`${name}: ${sampled(inputResponse(answers, 'line'))}`)));
  tool('roots', {}, ask(() => ({ roots: inputRequired.listRoots() }),
    (answers) => text(`${name}: ${inputResponse(answers, 'roots').roots.map((r) => r.uri).join(' ')}`)));
  tool('both', { message: z.string(), prompt: z.string() },
    ask(({ message, prompt }) => ({ answer: elicit(message, 'answer'), line: sample(prompt) }),
      (answers) => text(`${name}: ${acceptedContent(answers, 'answer').answer}, ${sampled(inputResponse(answers, 'line'))}`)));
  tool('held', question, async ({ message }, ctx) => {
    const answered = ctx.mcpReq.inputResponses !== undefined;
    await progress(ctx, answered ? 2 : 1, 2);
    return answered ? answer(ctx.mcpReq.inputResponses) : inputRequired({ inputRequests: { answer: elicit(message, 'answer') } });
  });
  tool('ask-wait', question, ask(({ message }) => ({ answer: elicit(message, 'answer') }), (_, ctx) => untilCancelled(ctx)));
}

// rounds is the tool with three rounds, each depending on the one before. What was
// answered so far travels in the state.
function rounds(tool) {
  tool('interview', { who: z.string() }, ({ who }, ctx) => {
    const answers = ctx.mcpReq.inputResponses;
    const raw = ctx.mcpReq.requestState();
    if (raw === undefined) {
      return inputRequired({ inputRequests: { colour: elicit(`${who}: your colour?`, 'answer') }, requestState: JSON.stringify({ who }) });
    }
    const state = JSON.parse(raw);
    if (state.colour === undefined) {
      const colour = acceptedContent(answers, 'colour').answer;
      return inputRequired({
        inputRequests: { line: sample(`${who}: a line about ${colour}`) }, requestState: JSON.stringify({ ...state, colour }),
      });
    }
    if (state.line === undefined) {
      const line = sampled(inputResponse(answers, 'line'));
      return inputRequired({
        inputRequests: { keep: elicit(`${who}: keep ${line}?`, 'answer') }, requestState: JSON.stringify({ ...state, line }),
      });
    }
    return text(JSON.stringify({ ...state, keep: acceptedContent(answers, 'keep').answer }));
  });
}

async function progress(ctx, step, total) {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: step, total, message: `step ${step}` } });
}

function untilCancelled(ctx) {
  return new Promise((_, reject) => {
    ctx.mcpReq.signal.addEventListener('abort', () => {
      shared.cancelled++;
      reject(new Error('cancelled'));
    });
  });
}

if (transport === 'stdio') {
  serveStdio(build, { legacy: 'reject' });
} else {
  const handler = createMcpHandler(build, { legacy: 'reject' });
  shared.notify = handler.notify;
  const http = createServer(toNodeHandler(handler));
  http.keepAliveTimeout = 0; // as in everything.mjs
  http.listen(Number(port), '127.0.0.1');
}
