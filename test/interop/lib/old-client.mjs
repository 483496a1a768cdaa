// The client of the TypeScript SDK version 1, which knows no revision after
// 2025-11-25, with the methods and names of version 2 that the checks use.

import { peer } from './peers.mjs';

const { Client } = await peer('@modelcontextprotocol/sdk/dist/esm/client/index.js');
const { StdioClientTransport } = await peer('@modelcontextprotocol/sdk/dist/esm/client/stdio.js');
const { StreamableHTTPClientTransport } = await peer('@modelcontextprotocol/sdk/dist/esm/client/streamableHttp.js');
const types = await peer('@modelcontextprotocol/sdk/dist/esm/types.js');

const notifications = {
  'notifications/message': types.LoggingMessageNotificationSchema,
  'notifications/progress': types.ProgressNotificationSchema,
  'notifications/resources/updated': types.ResourceUpdatedNotificationSchema,
  'notifications/tools/list_changed': types.ToolListChangedNotificationSchema,
};
const requests = {
  'elicitation/create': types.ElicitRequestSchema,
  'roots/list': types.ListRootsRequestSchema,
  'sampling/createMessage': types.CreateMessageRequestSchema,
};

export class OldClient {
  #client;
  #transport;

  constructor(info, options) {
    this.#client = new Client(info, options);
  }

  async connect(target, options) {
    this.#transport = target.url
      ? new StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers: target.headers ?? {} } })
      : new StdioClientTransport({
        command: target.command, args: target.args ?? [], env: { ...process.env, ...(target.env ?? {}) }, stderr: 'inherit',
      });
    await this.#client.connect(this.#transport, options);
  }

  setRequestHandler(method, handler) {
    this.#client.setRequestHandler(requests[method], handler);
  }

  setNotificationHandler(method, handler) {
    this.#client.setNotificationHandler(notifications[method], handler);
  }

  // This version tells only its transport which revision was agreed upon.
  getNegotiatedProtocolVersion() {
    return this.#transport.protocolVersion ?? types.LATEST_PROTOCOL_VERSION;
  }

  callTool(params, options) { return this.#client.callTool(params, undefined, options); }
  listTools(params) { return this.#client.listTools(params); }
  listPrompts(params) { return this.#client.listPrompts(params); }
  getPrompt(params) { return this.#client.getPrompt(params); }
  complete(params) { return this.#client.complete(params); }
  listResources(params) { return this.#client.listResources(params); }
  listResourceTemplates(params) { return this.#client.listResourceTemplates(params); }
  readResource(params) { return this.#client.readResource(params); }
  setLoggingLevel(level) { return this.#client.setLoggingLevel(level); }
  subscribeResource(params) { return this.#client.subscribeResource(params); }
  unsubscribeResource(params) { return this.#client.unsubscribeResource(params); }
  close() { return this.#client.close(); }
}
