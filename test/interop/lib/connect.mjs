// Connects the official TypeScript client to a target in one of its three modes,
// or that of the SDK's version 1 (mode "old").

import { setTimeout as delay } from 'node:timers/promises';
import { OldClient } from './old-client.mjs';
import { peer } from './peers.mjs';

const { Client, StreamableHTTPClientTransport } = await peer('@modelcontextprotocol/client/dist/index.mjs');
const { StdioClientTransport } = await peer('@modelcontextprotocol/client/dist/stdio.mjs');

const negotiation = { legacy: 'legacy', auto: 'auto', modern: { pin: '2026-07-28' } };
const info = { name: 'durward-interop', version: '1.0.0' };

// connect connects a client; person answers what it is asked. Without one the
// client declares that it can be asked nothing.
export async function connect(target, mode, person) {
  const options = { capabilities: person?.capabilities() ?? {} };
  if (mode === 'old') {
    const client = new OldClient(info, options);
    person?.attach(client);
    await client.connect(target, { timeout: 60_000 });
    return client;
  }
  const client = new Client(info, { ...options, versionNegotiation: { mode: negotiation[mode] } });
  person?.attach(client);
  await client.connect(transport(target), { timeout: 60_000 });
  return client;
}

export function isModern(client) {
  return client.getNegotiatedProtocolVersion() >= '2026-07-28';
}

function transport(target) {
  if (target.url) {
    return new StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers: target.headers ?? {} } });
  }
  return new StdioClientTransport({
    command: target.command,
    args: target.args ?? [],
    env: { ...process.env, ...(target.env ?? {}) },
    stderr: 'inherit',
  });
}

// View is one server as a client sees it: with its own names on a route of its
// own, with prefixed names and URIs on the aggregate.
export class View {
  static #tokens = 1;

  constructor(client, server, aggregate) {
    this.client = client;
    this.server = server;
    this.aggregate = aggregate;
  }

  name(own) {
    return this.aggregate ? `${this.server.name}__${own}` : own;
  }

  // own is the server's own name of an offered one, or undefined when the name
  // belongs to another server.
  own(offered) {
    if (!this.aggregate) return offered;
    const prefix = `${this.server.name}__`;
    return offered.startsWith(prefix) ? offered.slice(prefix.length) : undefined;
  }

  // uri turns the server's own URI (or URI template) into the listed one.
  async uri(own) {
    const { resources } = await this.client.listResources();
    return this.#listed(own, resources.map((r) => r.uri));
  }

  async template(own) {
    const { resourceTemplates } = await this.client.listResourceTemplates();
    return this.#listed(own, resourceTemplates.map((t) => t.uriTemplate));
  }

  #listed(own, offered) {
    const found = offered.find((o) => this.#ownUri(o) === own);
    if (found === undefined) throw new Error(`${own} is not listed; listed are ${offered.join(' ')}`);
    return found;
  }

  #ownUri(offered) {
    if (!this.aggregate) return offered;
    const prefix = `durward://${this.server.name}/`;
    return offered.startsWith(prefix) ? decodeURIComponent(offered.slice(prefix.length)) : undefined;
  }

  async tools() {
    const { tools } = await this.client.listTools({}, { cacheMode: 'refresh' });
    return tools.flatMap((t) => {
      const own = this.own(t.name);
      return own === undefined ? [] : [{ ...t, name: own }];
    });
  }

  call(tool, args, options) {
    return this.client.callTool({ name: this.name(tool), arguments: args }, { timeout: 85_000, ...options });
  }

  // progress calls a tool with a progress token of its own and returns the text
  // with the steps in the order of their arrival. The client's onprogress is not
  // used: it forgets a call as soon as the result is read, and drops the steps
  // that came in the same chunk.
  // They are waited for so long behind the result.
  async progress(tool, args, count, patience = 30_000) {
    const progressToken = `interop-${View.#tokens++}`;
    const steps = [];
    const all = new Promise((resolve) => {
      this.client.setNotificationHandler('notifications/progress', ({ params }) => {
        if (params.progressToken !== progressToken) return;
        steps.push([params.progress, params.total]);
        if (steps.length === count) resolve();
      });
    });
    const result = await this.client.callTool({ name: this.name(tool), arguments: args, _meta: { progressToken } });
    await Promise.race([all, delay(patience)]);
    return { text: result.content[0].text, steps };
  }

  async text(tool, args, options) {
    const result = await this.call(tool, args, options);
    if (result.isError) throw new Error(`${tool} failed: ${JSON.stringify(result.content)}`);
    return result.content[0].text;
  }
}
