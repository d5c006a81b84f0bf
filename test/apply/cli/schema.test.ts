import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { buildJsonSchemas, OUTPUT_SCHEMAS } from '../../../src/commands/output-schemas.js';
import { sqliteLedger } from '../support/ledger.js';
import { createOrders, makeScene, type Scene } from './scene.js';

const IDS = ['--ids', 'invoice_id=accounting/invoices'];
const PLACES = [
  ['SQLite', ['shop.db']],
  ['CSV', ['orders.csv']],
] as const;
/** A V3 id without a twin. */
const NO_TWIN = 181;

function openShop(ids: readonly number[]): Scene {
  const scene = makeScene();
  createOrders(scene.path('shop.db'), ids);
  writeFileSync(
    scene.path('orders.csv'),
    `id,invoice_id\n${ids.map((id, at) => `${at + 1},${id}\n`).join('')}`,
  );
  return scene;
}

/** The result of a command, which follows the schema. */
async function resultOf(scene: Scene, args: readonly string[]) {
  const { stdout, code } = await scene.run([...args, '--json', '-']);
  const value = OUTPUT_SCHEMAS.apply.schema.parse(JSON.parse(stdout));
  expect(value.exitCode).toBe(code);
  return value;
}

describe.each(PLACES)('results of apply and undo on %s', (kind, place) => {
  const table = kind === 'SQLite' ? ['--table', 'orders', ...IDS] : IDS;

  const modes: readonly (readonly string[])[] = kind === 'SQLite' ? [[], ['--in-place']] : [[]];
  it.each(modes.map((mode) => [mode]))('follow the schema from the plan to the undo (%j)', async (mode) => {
    const scene = openShop([1, 2, 3]);
    const target = [...place, ...table, ...mode];
    const planned = await resultOf(scene, ['apply', 'plan', ...target]);
    expect(planned).toMatchObject({
      action: 'plan',
      exitCode: 0,
      targets: [{ changes: 3 }],
    });
    expect(await resultOf(scene, ['apply', 'check', ...place, ...table])).toMatchObject({ action: 'check' });
    const first = await resultOf(scene, ['apply', 'write', ...target, '--yes']);
    expect(first).toMatchObject({ action: 'write', written: [{ changed: 3, alreadyDone: false }] });
    const again = await resultOf(scene, ['apply', 'write', ...target, '--yes']);
    expect(again).toMatchObject({ action: 'write', written: [{ alreadyDone: true }] });
    const verified = await resultOf(scene, ['apply', 'verify', ...target.slice(0, 1)]);
    expect(verified).toMatchObject({ action: 'verify', verified: [{ checked: 3 }] });
    const listed = await resultOf(scene, ['apply', 'runs', ...place]);
    expect(listed).toMatchObject({ action: 'runs', runs: [{ state: 'done' }] });
    const run = 'runs' in listed && typeof listed.runs?.[0] === 'object' ? listed.runs[0].run : '';
    expect(await resultOf(scene, ['apply', 'undo', run, ...place])).toMatchObject({
      run,
      undone: [{ changedSince: [] }],
    });
  });

  it('follow it where the plan is refused, and in a scan', async () => {
    const scene = openShop([1, NO_TWIN]);
    const refused = await resultOf(scene, ['apply', 'write', ...place, ...table, '--yes']);
    expect(refused).toMatchObject({
      action: 'write',
      exitCode: 1,
      written: [],
      blocks: [{ note: { code: 'missing' } }],
    });
    if (kind === 'SQLite') {
      const emit = ['apply', 'sql', 'sqlite', ...place, ...table, '--in-place', '--output', 'sql'];
      expect(await resultOf(scene, emit)).toMatchObject({
        action: 'sql',
        exitCode: 1,
      });
      const kept = await resultOf(scene, [...emit, '--missing', 'keep']);
      expect(kept).toMatchObject({ action: 'sql', exitCode: 0, values: 2 });
    }
    const scanned = await resultOf(scene, ['apply', 'find', ...place]);
    expect(scanned).toMatchObject({ action: 'find', places: [{ unseen: [] }] });
  });
});

it('an unfinished run follows it in what --verify finds', async () => {
  const scene = openShop([1]);
  const target = ['shop.db', '--table', 'orders', ...IDS, '--in-place'];
  await resultOf(scene, ['apply', 'write', ...target, '--yes']);
  await sqliteLedger(scene.path('shop.db')).editRuns({ state: "'working'" });
  const verified = await resultOf(scene, ['apply', 'verify', ...target.slice(0, 1)]);
  expect(verified).toMatchObject({ action: 'verify', exitCode: 1, unfinished: [{ state: 'working' }] });
});

it('a plan ends with the command that carries it out', async () => {
  const scene = openShop([1, NO_TWIN]);
  const options = ['--in-place', '--missing', 'keep', '--allow-incomplete'];
  const planned = await resultOf(scene, [
    'apply',
    'plan',
    'shop.db',
    '--table',
    'orders',
    ...IDS,
    ...options,
  ]);
  expect(planned.next).toContain('--in-place --missing keep --allow-incomplete');
  const [, ...words] = planned.next.split(' ');
  expect(await resultOf(scene, [...words, '--yes'])).toMatchObject({
    action: 'write',
    exitCode: 0,
    written: [{ changed: 1 }],
  });
});

it('allows nothing that the schema does not name', () => {
  const open: string[] = [];
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    const { properties, additionalProperties } = value as Readonly<Record<string, unknown>>;
    if (properties !== undefined && additionalProperties !== false) open.push(path);
    for (const [key, member] of Object.entries(value)) visit(member, `${path}/${key}`);
  };
  visit(buildJsonSchemas().get('apply'), '');
  expect(open).toEqual([]);
  expect(buildJsonSchemas().get('apply')).toMatchObject({ $id: 'urn:svc-migrate:schema:apply:1' });
});
