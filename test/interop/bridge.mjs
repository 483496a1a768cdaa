// Runs one official TypeScript client against several servers, one connection
// each, and checks every feature of the protocol between the two. The job is that
// of client.mjs, but each server says how it is reached:
//
//   servers    [{name, kind, says, era, at, abandon, without}]; at is a target, era the
//              one in which the gateway must speak to the server
//   leaving    whether calls are left, instead of all the rest

import assert from 'node:assert/strict';
import { connect, View } from './lib/connect.mjs';
import { fixture, leave } from './lib/fixture.mjs';
import { input, leaveAsked } from './lib/input.mjs';
import { Person } from './lib/person.mjs';
import { everything } from './lib/reference.mjs';
import { everythingInput } from './lib/reference-input.mjs';
import { Report } from './lib/report.mjs';

const job = JSON.parse(process.env.INTEROP_TARGET);
const kinds = {
  fixture: { plain: fixture, asking: input },
  everything: { plain: everything, asking: everythingInput },
};

for (const server of job.servers) {
  const unique = `${process.pid}-${Date.now()}`;
  const report = new Report(`${job.label}/${server.name}`, { ...job.without, ...server.without }, server.name);
  const person = new Person('pat');
  let client;
  const connected = await report.check(job.leaving ? 'connect-again' : 'connect', async () => {
    client = await connect(server.at, job.mode, person);
    assert.equal(client.getNegotiatedProtocolVersion(), job.era);
  });
  if (!connected) continue;
  const view = new View(client, server, job.aggregate);
  if (job.leaving) {
    await leave(report, view);
    await leaveAsked(report, view, person, unique);
  } else {
    await kinds[server.kind].plain(report, view, unique);
    await kinds[server.kind].asking(report, view, person, unique, () => connect(server.at, job.mode));
  }
  await client.close();
}
process.exit(0);
