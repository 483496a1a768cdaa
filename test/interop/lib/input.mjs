// Checks of what needs more than an answer: the client's input, its log level, its
// subscriptions, and calls that are left while they wait. The servers are the Go
// fixtures and servers/modern.mjs.

import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { isModern } from './connect.mjs';
import { leaves, timely } from './fixture.mjs';

const logLevel = 'io.modelcontextprotocol/logLevel';

// input makes the checks with a client whose questions person answers. reconnect
// connects another client that can be asked nothing.
export async function input(report, view, person, unique, reconnect) {
  const says = view.server.says;
  await report.check('revision', async () => {
    const want = view.server.era === 'modern' ? '2026-07-28' : '2025-11-25';
    assert.equal(await view.text('revision', {}), want);
  });
  await report.check('logging', () => logging(view, unique));
  await report.check('subscription', () => subscription(view));
  await report.check('elicit', async () => {
    const message = `${unique} what "is" it?`;
    assert.equal(await view.text('ask', { message }), `${says}: accept ${person.reply(message)}`);
    assert.equal(person.questions('form', message).length, 1);
  });
  await report.check('decline', () => decline(view, person, unique));
  await report.check('elicit-url', async () => {
    const url = `https://example.test/${unique}`;
    assert.equal(await view.text('open', { url, message: 'please' }), `${says}: accept`);
    assert.equal(person.questions('url', `please ${url}`).length, 1);
  });
  await report.check('sampling', async () => {
    const prompt = `${unique} a poem`;
    assert.equal(await view.text('sample', { prompt }), `${says}: ${person.reply(prompt)}`);
    assert.equal(person.questions('sampling', prompt).length, 1);
  });
  await report.check('roots', async () => {
    assert.equal(await view.text('roots', {}), `${says}: file:///home/${person.name}`);
  });
  await report.check('two-questions', async () => {
    const [message, prompt] = [`${unique} first`, `${unique} second`];
    assert.equal(await view.text('both', { message, prompt }), `${says}: ${person.reply(message)}, ${person.reply(prompt)}`);
  });
  await report.check('three-rounds', () => threeRounds(view, person, unique));
  await report.check('held-progress', () => heldProgress(view, person, unique));
  await report.check('cannot-ask', () => cannotAsk(view, 'ask', { message: `${unique} mute` }, reconnect));
}

export async function threeRounds(view, person, unique) {
  const who = `${person.name}-${unique}`;
  assert.deepEqual(JSON.parse(await view.text('interview', { who })), person.interview(who));
  assert.equal(person.questions('form', `${who}: your colour?`).length, 1 + 1, 'the last question has the first in it');
}

// leaveAsked leaves calls whose questions were asked.
export async function leaveAsked(report, view, person, unique) {
  await report.check('held-cancel', () => heldCancel(view, person, unique));
  if (isModern(view.client) && view.server.abandon) await report.check('abandoned', () => abandoned(view, unique));
}

// What is less severe than asked for must not come, what is more must.
async function logging(view, unique) {
  const _meta = isModern(view.client) ? { [logLevel]: 'warning' } : undefined;
  if (!_meta) await view.client.setLoggingLevel('warning');
  await timely(view, async (n, patience) => {
    const text = `${n} ${unique}`;
    const levels = [];
    const both = new Promise((resolve) => {
      view.client.setNotificationHandler('notifications/message', ({ params }) => {
        if (!String(params.data).endsWith(text)) return;
        levels.push(params.level);
        if (levels.length === 2) resolve();
      });
    });
    const result = await view.client.callTool({ name: view.name('log'), arguments: { text }, ...(_meta && { _meta }) });
    assert.equal(result.content[0].text, 'logged');
    await Promise.race([both, delay(patience)]);
    assert.deepEqual(levels.sort(), ['error', 'warning']); // mcp-go's HTTP server sends them on two streams
  });
}

async function subscription(view) {
  const uri = await view.uri(`memo://${view.server.says}/hello`);
  const updated = new Promise((resolve) => {
    view.client.setNotificationHandler('notifications/resources/updated', ({ params }) => resolve(params.uri));
  });
  let listening;
  if (isModern(view.client)) listening = await view.client.listen({ resourceSubscriptions: [uri] });
  else await view.client.subscribeResource({ uri });
  assert.equal(await view.text('touch', {}), 'touched');
  assert.equal(await Promise.race([updated, delay(30_000, 'nothing came')]), uri);
  if (listening) await listening.close();
  else await view.client.unsubscribeResource({ uri });
}

async function decline(view, person, unique) {
  person.declines = true;
  try {
    assert.equal(await view.text('ask', { message: `${unique} no?` }), `${view.server.says}: decline`);
  } finally {
    person.declines = false;
  }
}

// The server reports one step before it asks and one after.
async function heldProgress(view, person, unique) {
  await timely(view, async (n, patience) => {
    const message = `${unique} held ${n}`;
    const { text, steps } = await view.progress('held', { message }, 2, patience);
    assert.equal(text, `${view.server.says}: accept ${person.reply(message)}`);
    assert.deepEqual(steps, [[1, 2], [2, 2]]);
  });
}

// The call is left after its question was answered, while the server works on.
async function heldCancel(view, person, unique) {
  const message = (pause) => `${unique} leave after ${pause} ms`;
  await leaves(
    view,
    (signal, pause) => view.call('ask-wait', { message: message(pause) }, { signal }),
    (pause) => person.wasAsked('form', message(pause)),
  );
}

// Who cannot be asked is told what is missing, and nothing hangs.
export async function cannotAsk(view, tool, args, reconnect) {
  const client = await reconnect();
  try {
    const call = client.callTool({ name: view.name(tool), arguments: args });
    if (isModern(client)) {
      const error = await call.then((r) => assert.fail(`a result: ${JSON.stringify(r)}`), (e) => e);
      assert.equal(error.code, -32021, String(error));
      assert.ok(error.data?.requiredCapabilities?.elicitation, JSON.stringify(error.data));
    } else {
      const words = await call.then((r) => r.isError && r.content[0].text, (e) => e.message);
      assert.match(String(words), /elicit|method not found/i);
    }
  } finally {
    await client.close();
  }
}

// A client that takes a question and does not come back: the server hears that the
// call is over, and who comes back after that is told so.
async function abandoned(view, unique) {
  const before = Number(await view.text('cancelled', {}));
  const args = { who: `${unique} gone` };
  const asked = await view.call('interview', args, { allowInputRequired: true });
  assert.equal(asked.resultType, 'input_required');
  const [key] = Object.keys(asked.inputRequests);
  for (let after = before; after <= before; after = Number(await view.text('cancelled', {}))) await delay(200);
  const late = await view.client.callTool({
    name: view.name('interview'), arguments: args, requestState: asked.requestState,
    inputResponses: { [key]: { action: 'accept', content: { answer: 'too late' } } },
  }, { allowInputRequired: true });
  assert.equal(late.isError, true, JSON.stringify(late));
}
