// Two people at one gateway, whose clients are asked by the same server at the same
// time. Every question must reach the one whose call it is about. The job in
// INTEROP_TARGET is that of client.mjs, and
//
//   principals  {name: target}; each is somebody else's token on the same route
//   modes       {name: mode} of the clients, else mode
//
// The tools ask with the name of their caller in every question, but for
// server-everything's own elicitation: there the answer shows who gave it.

import assert from 'node:assert/strict';
import { connect, isModern, View } from './lib/connect.mjs';
import { Person } from './lib/person.mjs';
import { Report } from './lib/report.mjs';

const job = JSON.parse(process.env.INTEROP_TARGET);
const calls = 20;
const names = Object.keys(job.principals);

for (const server of job.servers) {
  const report = new Report(`${job.label}/${server.name}`);
  let crowd;
  const connected = await report.check('connect', async () => {
    crowd = await Promise.all(names.map((name) => member(name, server)));
  });
  if (!connected) continue;
  // Nobody was asked by this server yet: while it may not be told apart for whom it
  // asks the gateway refuses the question, but it never guesses.
  await report.check('first-questions', () => everybody(crowd, (m) => interviews(m, 'first', true)));
  await report.check('three-rounds-each', () => everybody(crowd, (m) => interviews(m, 'again', false)));
  if (server.kind === 'everything') {
    await report.check('sampling-each', () => everybody(crowd, (m) => samplings(m)));
    await report.check('elicitation-each', () => everybody(crowd, (m) => elicitations(m)));
    const some = calls / 4;
    await report.check('mixed', () => everybody(crowd, (m) => [
      ...interviews(m, 'mixed', false, calls - 2 * some), ...samplings(m, some), ...elicitations(m, some),
    ]));
  }
  if (crowd.every((m) => isModern(m.view.client))) await report.check('stolen-state', () => stolenState(crowd));
  await report.check('nobody-else-asked', () => misdirected(crowd));
  await report.check('close', () => Promise.all(crowd.map((m) => m.view.client.close())));
}
process.exit(0);

async function member(name, server) {
  const person = new Person(name);
  const client = await connect(job.principals[name], job.modes?.[name] ?? job.mode, person);
  return { name, person, view: new View(client, server, job.aggregate) };
}

// All calls are waited for also when one fails: what is left would be asked later.
async function everybody(crowd, what) {
  const ends = await Promise.allSettled(crowd.flatMap(what));
  const failures = ends.filter((e) => e.status === 'rejected').map((e) => e.reason);
  if (failures.length === 0) return ends.map((e) => e.value);
  const words = new Set(failures.map((e) => String(e.message).slice(0, 200)));
  throw new Error(`${failures.length} of ${ends.length} calls: ${[...words].join('; ')}`);
}

function many(count, one) {
  return Array.from({ length: count }, (_, i) => one(i));
}

// A refusal is one of the gateway's words, not an answer of somebody else.
function interviews(m, round, mayBeRefused, count = calls) {
  return many(count, async (i) => {
    const who = `${m.name}-${round}-${i}`;
    let text;
    try {
      text = await m.view.text('interview', { who });
    } catch (error) {
      if (mayBeRefused && /cannot tell which of its clients/.test(error.message)) return 'refused';
      throw error;
    }
    assert.deepEqual(JSON.parse(text), m.person.interview(who));
    return 'answered';
  });
}

function samplings(m, count = calls) {
  return many(count, async (i) => {
    const prompt = `${m.name} sampling ${i}`;
    const text = await m.view.text('trigger-sampling-request', { prompt });
    const asked = `Resource trigger-sampling-request context: ${prompt}`;
    assert.equal(JSON.parse(text.slice(text.indexOf('{'))).content.text, m.person.reply(asked));
  });
}

function elicitations(m, count = calls) {
  return many(count, async () => {
    const { content } = await m.view.call('trigger-elicitation-request', {});
    const all = content.map((c) => c.text).join('\n');
    assert.ok(all.includes(`- Name: ${m.name}<`), all);
  });
}

// What one person was asked cannot be answered by another, who got hold of the
// state; and it still can by the one who was asked.
async function stolenState([mine, other]) {
  const manual = { allowInputRequired: true };
  const who = `${mine.name}-stolen`;
  const asked = await mine.view.call('interview', { who }, manual);
  assert.equal(asked.resultType, 'input_required', JSON.stringify(asked));
  const retry = (m, inputResponses, requestState = asked.requestState) => m.view.client.callTool(
    { name: m.view.name('interview'), arguments: { who }, requestState, inputResponses }, manual,
  );
  const [key] = Object.keys(asked.inputRequests);
  const answer = { [key]: { action: 'accept', content: { answer: 'red' } } };
  const error = await retry(other, answer).then((r) => assert.fail(JSON.stringify(r)), (e) => e);
  assert.equal(error.code, -32602, String(error));
  let next = await retry(mine, answer);
  assert.match(JSON.stringify(next.inputRequests), new RegExp(`${who}: a line about red`));
  const said = { model: 'm', role: 'assistant', content: { type: 'text', text: 'roses are' } };
  next = await retry(mine, { [Object.keys(next.inputRequests)[0]]: said }, next.requestState);
  assert.match(JSON.stringify(next.inputRequests), new RegExp(`${who}: keep roses are`));
  const end = await retry(mine, { [Object.keys(next.inputRequests)[0]]: answer[key] }, next.requestState);
  assert.deepEqual(JSON.parse(end.content[0].text), { who, colour: 'red', line: 'roses are', keep: 'red' });
}

function misdirected(crowd) {
  for (const m of crowd) {
    const others = names.filter((n) => n !== m.name);
    const wrong = m.person.asked.filter((a) => others.some((n) => a.text.includes(n)));
    assert.deepEqual(wrong, [], `${m.name} was asked ${m.person.asked.length} questions, of which ${wrong.length} were not for ${m.name}`);
    assert.ok(m.person.asked.length >= calls, `${m.name} was asked ${m.person.asked.length} questions`);
  }
}
