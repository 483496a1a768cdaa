// Checks for the reference servers of the MCP project: everything, filesystem,
// memory and sequential-thinking.

import assert from 'node:assert/strict';
import { readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export async function everything(report, view) {
  await report.check('echo', async () => {
    assert.equal(await view.text('echo', { message: 'hé "llo"' }), 'Echo: hé "llo"');
  });
  await report.check('sum', async () => {
    assert.equal(await view.text('get-sum', { a: 2, b: 40 }), 'The sum of 2 and 40 is 42.');
  });
  await report.check('structured', async () => {
    const result = await view.call('get-structured-content', { location: 'Chicago' });
    assert.deepEqual(Object.keys(result.structuredContent).sort(), ['conditions', 'humidity', 'temperature']);
    assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  });
  await report.check('image', async () => {
    const { content } = await view.call('get-tiny-image', {});
    const image = content.find((c) => c.type === 'image');
    assert.equal(image.mimeType, 'image/png');
    assert.equal(Buffer.from(image.data, 'base64').subarray(1, 4).toString(), 'PNG');
  });
  await report.check('progress', async () => {
    const { text, steps } = await view.progress('trigger-long-running-operation', { duration: 0.2, steps: 4 }, 4);
    assert.equal(text, 'Long running operation completed. Duration: 0.2 seconds, Steps: 4.');
    assert.deepEqual(steps, [[1, 4], [2, 4], [3, 4], [4, 4]]);
  });
  await report.check('tool-error', async () => {
    const result = await view.call('get-sum', { a: 'not a number', b: 1 });
    assert.equal(result.isError, true);
  });
  await report.check('prompt', async () => {
    const { messages } = await view.client.getPrompt({
      name: view.name('args-prompt'), arguments: { city: 'Oslo', state: 'Norway' },
    });
    assert.equal(messages[0].content.text, "What's weather in Oslo, Norway?");
  });
  await report.check('completion', async () => {
    const { completion } = await view.client.complete({
      ref: { type: 'ref/prompt', name: view.name('completable-prompt') },
      argument: { name: 'name', value: 'A' },
      context: { arguments: { department: 'Engineering' } },
    });
    assert.deepEqual(completion.values, ['Alice']);
  });
  await report.check('resource', async () => {
    const uri = await view.uri('demo://resource/static/document/features.md');
    const { contents } = await view.client.readResource({ uri });
    assert.match(contents[0].text, /^# /);
    assert.equal(contents[0].uri, 'demo://resource/static/document/features.md');
  });
  await report.check('template', async () => {
    const listed = await view.template('demo://resource/dynamic/text/{resourceId}');
    const { contents } = await view.client.readResource({ uri: listed.replace(/\{resourceId\}|%7BresourceId%7D/i, '7') });
    assert.match(contents[0].text, /^Resource 7: This is a plaintext resource/);
  });
}

export async function filesystem(report, view, unique) {
  const dir = await realpath(view.server.files);
  await report.check('read', async () => {
    const path = join(dir, `read-${unique}.txt`);
    const text = 'first line\nzweite Zeile äöü\n$HOME "quoted" \\ \u{1F512}\n';
    await writeFile(path, text);
    assert.equal(await view.text('read_text_file', { path }), text);
  });
  await report.check('write', async () => {
    const path = join(dir, `written by ${unique} 'x' $y.txt`);
    const content = `written by ${unique}\n${'x'.repeat(200_000)}\n`;
    await view.text('write_file', { path, content });
    assert.equal(await readFile(path, 'utf8'), content);
    const listing = await view.text('list_directory', { path: dir });
    assert.ok(listing.includes(`[FILE] written by ${unique} 'x' $y.txt`), listing);
  });
  await report.check('refused', async () => {
    const result = await view.call('read_text_file', { path: '/etc/hostname' });
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /outside allowed directories/);
  });
}

export async function memory(report, view, unique) {
  const name = `door-${unique}`;
  const entity = { name, entityType: 'door', observations: ['is oak', 'has "two" locks'] };
  await report.check('write', async () => {
    const made = await view.call('create_entities', { entities: [entity, { ...entity, name: `${name}-key` }] });
    assert.deepEqual(made.structuredContent.entities.map((e) => e.name), [name, `${name}-key`]);
    await view.text('create_relations', { relations: [{ from: `${name}-key`, to: name, relationType: 'opens' }] });
  });
  await report.check('read-back', async () => {
    const graph = (await view.call('read_graph', {})).structuredContent;
    assert.deepEqual(graph.entities.find((e) => e.name === name), entity);
    const relation = graph.relations.find((r) => r.to === name);
    assert.deepEqual([relation.from, relation.relationType], [`${name}-key`, 'opens']);
  });
  await report.check('search', async () => {
    const found = (await view.call('search_nodes', { query: name })).structuredContent;
    assert.equal(found.entities.length, 2);
  });
}

export async function thinking(report, view) {
  await report.check('history', async () => {
    const think = async (thought) => JSON.parse(await view.text('sequentialthinking', {
      thought, nextThoughtNeeded: true, thoughtNumber: 1, totalThoughts: 3,
    }));
    const first = await think('who is at the door?');
    const second = await think('let them in?');
    assert.equal(second.totalThoughts, 3);
    assert.equal(second.thoughtHistoryLength, first.thoughtHistoryLength + 1);
  });
}
