// Checks for the two Go fixture servers (test/fixtures/gosdk and mcpgo), which
// offer the same things and sign every answer with the server's name.

import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { isModern } from './connect.mjs';

export async function fixture(report, view, unique) {
  const says = view.server.says;
  await report.check('tools', async () => {
    const names = (await view.tools()).map((t) => t.name);
    for (const want of ['echo', 'count', 'wait', 'cancelled', 'grow']) assert.ok(names.includes(want), `${want} in ${names}`);
  });
  await report.check('echo', async () => {
    const text = 'Grüße, "世界" \u{1F6AA}\n\\ end';
    assert.equal(await view.text('echo', { text }), `${says}: ${text}`);
  });
  await report.check('parallel', async () => {
    const texts = Array.from({ length: 40 }, (_, i) => `call ${i}`);
    const got = await Promise.all(texts.map((text) => view.text('echo', { text })));
    assert.deepEqual(got, texts.map((text) => `${says}: ${text}`));
  });
  await report.check('prompt', () => prompt(view, says));
  await report.check('completion', async () => {
    const ref = { type: 'ref/prompt', name: view.name('greet') };
    const { completion } = await view.client.complete({ ref, argument: { name: 'name', value: 'a' } });
    assert.deepEqual(completion.values, ['ada', 'alan']);
  });
  await report.check('resource', async () => {
    const own = `memo://${says}/hello`;
    const { contents } = await view.client.readResource({ uri: await view.uri(own) });
    assert.deepEqual(contents, [{ uri: own, mimeType: 'text/plain', text: `${says} says ${own}` }]);
  });
  await report.check('template', async () => {
    const listed = await view.template(`memo://${says}/note/{id}`);
    const { contents } = await view.client.readResource({ uri: listed.replace(/\{id\}|%7Bid%7D/i, '42') });
    assert.equal(contents[0].text, `${says} says memo://${says}/note/42`);
  });
  await report.check('unknown-tool', async () => {
    await assert.rejects(view.call('no-such-tool', {}), (error) => error.code === -32602);
  });
  await report.check('progress', () => progress(view));
  await report.check('list-changed', () => grow(view, unique));
}

async function prompt(view, says) {
  const { prompts } = await view.client.listPrompts();
  const listed = prompts.find((p) => view.own(p.name) === 'greet');
  assert.deepEqual(listed.arguments.map((a) => [a.name, a.required]), [['name', true]]);
  const { messages } = await view.client.getPrompt({ name: view.name('greet'), arguments: { name: 'Ada' } });
  assert.deepEqual(messages, [{ role: 'user', content: { type: 'text', text: `${says} greets Ada` } }]);
}

// Every step must arrive once and in order.
async function progress(view) {
  const { text, steps } = await view.progress('count', { to: 25 }, 25);
  assert.equal(text, 'counted to 25');
  assert.deepEqual(steps, Array.from({ length: 25 }, (_, i) => [i + 1, 25]));
}

// leave leaves a call. The server itself says how many of its waiting calls were
// cancelled. Nothing tells a client that a call has begun on the server, so the
// abort comes a little later than the call.
export async function leave(report, view) {
  await report.check('cancel', () => cancel(view));
}

async function cancel(view) {
  const before = Number(await view.text('cancelled', {}));
  const abort = new AbortController();
  const waiting = view.call('wait', {}, { signal: abort.signal });
  waiting.catch(() => undefined);
  await delay(250);
  abort.abort('enough');
  await assert.rejects(waiting);
  for (let after = before; after <= before; after = Number(await view.text('cancelled', {}))) await delay(50);
}

function within(promise, words) {
  return Promise.race([promise, delay(10_000).then(() => assert.fail(words))]);
}

// A tool added on the server is announced, listed and callable. An announcement
// may be that of an earlier change, so each is followed by a look.
async function grow(view, unique) {
  const added = `added-${unique}`;
  const listed = new Promise((resolve, reject) => {
    view.client.setNotificationHandler('notifications/tools/list_changed', async () => {
      try {
        if ((await view.tools()).some((t) => t.name === added)) resolve();
      } catch (error) {
        reject(error);
      }
    });
  });
  const subscription = isModern(view.client) ? await view.client.listen({ toolsListChanged: true }) : undefined;
  assert.equal(await view.text('grow', { name: added }), `added ${added}`);
  await within(listed, `${added} was not announced`);
  assert.equal(await view.text(added, { text: 'new' }), `${view.server.says}: new`);
  await subscription?.close();
}
