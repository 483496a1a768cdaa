// Runs one official TypeScript client against several servers, one connection
// each, and checks every feature of the protocol between the two. The job is that
// of client.mjs, but each server says how it is reached:
//
//   servers    [{name, kind, says, era, at, without}]; at is a target, era the one
//              in which the gateway must speak to the server

import assert from 'node:assert/strict';
import { connect, View } from './lib/connect.mjs';
import { fixture } from './lib/fixture.mjs';
import { input } from './lib/input.mjs';
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
  const connected = await report.check('connect', async () => {
    client = await connect(server.at, job.mode, person);
    assert.equal(client.getNegotiatedProtocolVersion(), job.era);
  });
  if (!connected) continue;
  const view = new View(client, server, job.aggregate);
  const { plain, asking } = kinds[server.kind];
  await plain(report, view, unique);
  await asking(report, view, person, unique, () => connect(server.at, job.mode));
  await client.close();
}
process.exit(0);
