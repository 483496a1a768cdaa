// Runs the Inspector's command line against one target, one process per call,
// and checks what it prints. The job in INTEROP_TARGET is that of client.mjs;
// mode is the Inspector's protocol era. The server must be a Go fixture.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Report } from './lib/report.mjs';

const job = JSON.parse(process.env.INTEROP_TARGET);
const cli = fileURLToPath(new URL('../peers/node_modules/.bin/mcp-inspector', import.meta.url));

for (const server of job.servers) {
  const report = new Report(`${job.label}/${server.name}`);
  const name = (own) => (job.aggregate ? `${server.name}__${own}` : own);
  await report.check('tools/list', async () => {
    const { tools } = await inspect('--method', 'tools/list');
    const echo = tools.find((t) => t.name === name('echo'));
    assert.deepEqual(echo.inputSchema.required, ['text']);
  });
  await report.check('tools/call', async () => {
    const result = await inspect('--method', 'tools/call', '--tool-name', name('echo'), '--tool-arg', 'text=from the inspector');
    assert.equal(result.content[0].text, `${server.says}: from the inspector`);
  });
  await report.check('prompts/get', async () => {
    const result = await inspect('--method', 'prompts/get', '--prompt-name', name('greet'), '--prompt-args', 'name=Grace');
    assert.equal(result.messages[0].content.text, `${server.says} greets Grace`);
  });
  await report.check('resources', async () => {
    const own = `memo://${server.says}/hello`;
    const { resources } = await inspect('--method', 'resources/list');
    const uri = resources.map((r) => r.uri).find((u) => u === own || (u.includes(`//${server.name}/`) && decodeURIComponent(u).endsWith(own)));
    assert.ok(uri, `${own} is listed in ${JSON.stringify(resources)}`);
    const { contents } = await inspect('--method', 'resources/read', '--uri', uri);
    assert.equal(contents[0].text, `${server.says} says ${own}`);
  });
}
process.exit(0);

async function inspect(...args) {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [cli, '--cli', ...(await where(job.target)), '--protocol-era', job.mode, '-q', ...args],
    { maxBuffer: 16 << 20, timeout: 80_000 },
  );
  return JSON.parse(stdout);
}

// A command goes into a file: the Inspector takes its flags for its own.
async function where(target) {
  if (target.url) {
    const headers = Object.entries(target.headers ?? {}).flatMap(([k, v]) => ['--header', `${k}: ${v}`]);
    return [target.url, '--transport', 'http', ...headers];
  }
  const file = join(await mkdtemp(join(tmpdir(), 'durward-inspector-')), 'servers.json');
  const server = { command: target.command, args: target.args ?? [], env: { ...process.env, ...(target.env ?? {}) } };
  delete server.env.INTEROP_TARGET;
  await writeFile(file, JSON.stringify({ mcpServers: { target: server } }));
  process.on('exit', () => rmSync(dirname(file), { recursive: true, force: true }));
  return ['--config', file, '--server', 'target'];
}
