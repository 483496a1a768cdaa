// Runs the official TypeScript client against one target and checks what comes
// back from each server behind it. The target is JSON in INTEROP_TARGET:
//
//   label      prefix of the check names
//   mode       legacy, auto or modern (pinned to 2026-07-28)
//   target     {url, headers} or {command, args, env}
//   aggregate  whether names and URIs carry the server
//   complete   whether the servers are all that there are behind the aggregate
//   servers    [{name, kind, says, files, direct}]; direct is the server itself,
//              whose own tool list the offered one must equal
//   without    {check: reason} for checks that this client cannot make
//   era        the revision that must have been negotiated, if it matters

import assert from 'node:assert/strict';
import { connect, isModern, View } from './lib/connect.mjs';
import { fixture, leave } from './lib/fixture.mjs';
import { everything, filesystem, memory, thinking } from './lib/reference.mjs';
import { Report } from './lib/report.mjs';

const job = JSON.parse(process.env.INTEROP_TARGET);
const kinds = { fixture, everything, filesystem, memory, thinking };
const unique = `${process.pid}-${Date.now()}`;

let client;
const top = new Report(job.label);
const connected = await top.check('connect', async () => {
  client = await connect(job.target, job.mode);
  if (job.era) assert.equal(client.getNegotiatedProtocolVersion(), job.era);
});
if (connected) {
  for (const server of job.servers) {
    const report = new Report(`${job.label}/${server.name}`, job.without);
    const view = new View(client, server, job.aggregate);
    if (server.direct) await report.check('same-list', () => sameList(view, server.direct));
    await kinds[server.kind](report, view, unique);
    if (server.kind === 'fixture') await leave(report, view);
  }
  if (job.complete) await top.check('only-known-servers', () => onlyKnown());
  await top.check('close', () => client.close());
}
process.exit(0);

// The offered tools must be the server's own, member for member, but for the
// name. In the modern revision the client itself drops "execution", which that
// revision does not have.
async function sameList(view, direct) {
  const own = await connect(direct, 'legacy');
  const want = (await own.listTools()).tools;
  await own.close();
  const keep = isModern(client) ? ({ execution, ...tool }) => tool : (tool) => tool;
  assert.deepEqual(byName(await view.tools()).map(keep), byName(want).map(keep));
}

function byName(tools) {
  return tools.filter((t) => !t.name.startsWith('added-')).sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function onlyKnown() {
  const { tools } = await client.listTools();
  const strange = tools.filter((t) => !job.servers.some((s) => t.name.startsWith(`${s.name}__`)));
  assert.deepEqual(strange.map((t) => t.name), []);
}
