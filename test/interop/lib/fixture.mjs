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
  await timely(view, async (_, patience) => {
    const { text, steps } = await view.progress('count', { to: 25 }, 25, patience);
    assert.equal(text, 'counted to 25');
    assert.deepEqual(steps, Array.from({ length: 25 }, (_, i) => [i + 1, 25]));
  });
}

// timely makes a check that what comes with a result comes before it, and in order.
// What a server of mcp-go sends to a session nothing but time orders (see its fixture),
// so a busy machine has the check made again.
export async function timely(view, check) {
  const tries = view.server.says.startsWith('mcpgo') ? 5 : 1;
  for (let n = 1; ; n++) {
    try {
      return await check(n, tries > 1 ? 5_000 : 30_000);
    } catch (error) {
      if (n === tries) throw error;
    }
  }
}

// leave leaves a call. The server itself says how many of its waiting calls were
// cancelled.
export async function leave(report, view) {
  await report.check('cancel', () => leaves(view, (signal) => view.call('wait', {}, { signal })));
}

// leaves begins a call and leaves it; the server must count it. Nothing tells a client
// that a call has begun on the server, so the abort comes a little later than the call,
// and much later when that was too soon. asked waits until what the call asks for was
// asked.
export async function leaves(view, begin, asked = async () => {}) {
  const before = Number(await view.text('cancelled', {}));
  for (const pause of [250, 3_000, 15_000]) {
    const abort = new AbortController();
    const waiting = begin(abort.signal, pause);
    waiting.catch(() => undefined);
    await asked(pause);
    await delay(pause);
    abort.abort('enough');
    await assert.rejects(waiting);
    for (let i = 0; i < 100; i++) {
      if (Number(await view.text('cancelled', {})) > before) return;
      await delay(50);
    }
  }
  assert.fail('the server did not hear of it');
}

function within(promise, words) {
  return Promise.race([promise, delay(30_000).then(() => assert.fail(words))]);
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
