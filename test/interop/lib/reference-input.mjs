// Checks of what the reference server "everything" asks, with the tool "interview"
// of servers/everything.mjs.

import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { isModern } from './connect.mjs';
import { cannotAsk, threeRounds } from './input.mjs';

export async function everythingInput(report, view, person, unique, reconnect) {
  await report.check('elicit', async () => {
    const before = person.questions('form', 'Please provide inputs').length;
    const result = await view.call('trigger-elicitation-request', {});
    const all = result.content.map((c) => c.text).join('\n');
    assert.ok(all.includes(`- Name: ${person.reply('Please provide inputs for the following fields:')}`), all);
    assert.equal(person.questions('form', 'Please provide inputs').length, before + 1);
  });
  await report.check('decline', async () => {
    person.declines = true;
    try {
      assert.match(await view.text('trigger-elicitation-request', {}), /User declined/);
    } finally {
      person.declines = false;
    }
  });
  await report.check('sampling', async () => {
    const prompt = `${unique} a haiku`;
    const text = await view.text('trigger-sampling-request', { prompt });
    const asked = `Resource trigger-sampling-request context: ${prompt}`;
    assert.equal(JSON.parse(text.slice(text.indexOf('{'))).content.text, person.reply(asked));
  });
  await report.check('elicit-url', async () => {
    const url = `https://example.test/${unique}`;
    assert.match(await view.text('trigger-url-elicitation', { url, message: 'please' }), /User completed the URL elicitation/);
    assert.equal(person.questions('url', `please ${url}`).length, 1);
  });
  await report.check('url-error', () => urlError(view, person, unique));
  await report.check('roots', async () => {
    assert.ok((await view.text('get-roots-list', {})).includes(`URI: file:///home/${person.name}`));
  });
  await report.check('three-rounds', () => threeRounds(view, person, unique));
  await report.check('subscription', () => subscription(view));
  await report.check('cannot-ask', () => cannotAsk(view, 'interview', { who: `${unique} mute` }, reconnect));
}

// The server refuses with the error -32042 until the user went to an URL. Modern
// clients do not know the code: they are asked, and come again by themselves.
async function urlError(view, person, unique) {
  const url = `https://example.test/error/${unique}`;
  const args = { url, message: 'and then', errorPath: true };
  if (!isModern(view.client)) {
    const error = await view.call('trigger-url-elicitation', args).then((r) => assert.fail(JSON.stringify(r)), (e) => e);
    assert.equal(error.code, -32042, String(error));
    assert.equal(error.data.elicitations[0].url, 'https://modelcontextprotocol.io');
  }
  assert.match(await view.text('trigger-url-elicitation', args), /User completed the URL elicitation/);
  if (isModern(view.client)) assert.equal(person.questions('url', 'satisfy the prerequisite').length, 1);
  assert.equal(person.questions('url', `and then ${url}`).length, 1);
}

// The first update comes at once, others every five seconds until the tool is
// called again.
async function subscription(view) {
  const uri = await view.uri('demo://resource/static/document/features.md');
  const updated = new Promise((resolve) => {
    view.client.setNotificationHandler('notifications/resources/updated', ({ params }) => resolve(params.uri));
  });
  let listening;
  if (isModern(view.client)) listening = await view.client.listen({ resourceSubscriptions: [uri] });
  else await view.client.subscribeResource({ uri });
  assert.match(await view.text('toggle-subscriber-updates', {}), /^Started/);
  assert.equal(await Promise.race([updated, delay(30_000, 'nothing came')]), uri);
  assert.match(await view.text('toggle-subscriber-updates', {}), /^Stopped/);
  if (listening) await listening.close();
  else await view.client.unsubscribeResource({ uri });
}
