import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { judgeRemap } from '../../src/commands/report.js';
import { renderText } from '../../src/report/render-text.js';
import { reportSchema } from '../../src/report/report-schema.js';
import type { Db } from '../../src/store/open.js';
import { makeFolder } from '../cli/run-cli.js';
import { type Exported, INVOICES } from '../support/exported.js';
import { givenOf, runNamed } from '../support/given.js';
import { storePayloads } from '../support/payloads.js';
import { HOSTILE_TEXT as HOSTILE } from './sample-report.js';
import { newIo, type TestDatabase, withDatabase } from './support.js';

/** As a database can hold it. */
const HOSTILE_TEXT = HOSTILE.replaceAll('\ud800', '');

const TWO: Exported = {
  v3: [
    { id: 1, key: 'a', facts: 'x=1', kids: [{ id: 5, key: 'l' }] },
    { id: 2, key: HOSTILE_TEXT, facts: 'x=2' },
  ],
  v4: [
    { id: 11, key: 'a', facts: 'x=1', kids: [{ id: 15, key: 'l' }] },
    { id: 12, key: HOSTILE_TEXT, facts: 'x=2' },
  ],
};
const BODIES = new Map([
  [1n, { total: 1 }],
  [2n, { total: 2, [HOSTILE_TEXT]: HOSTILE_TEXT, long: 'x'.repeat(10_000) }],
  [11n, { total: 1 }],
  [12n, { total: 2, [HOSTILE_TEXT]: '', long: 'y' }],
]);

function savePayloads(db: Db, bodies: ReadonlyMap<bigint, object>): void {
  for (const [id, body] of bodies) storePayloads(db, JSON.stringify(body), 'svc_id = ?', id);
}

function withPayloads<T>(
  bodies: ReadonlyMap<bigint, object>,
  limits: Record<string, number>,
  work: (database: TestDatabase) => Promise<T>,
): Promise<T> {
  const global = Object.fromEntries(
    Object.entries(limits).map(([name, count]) => [name, { kind: 'count' as const, count }]),
  );
  return withDatabase(TWO, { limits: { global, models: {} } }, (database) => {
    database.write((db) => savePayloads(db, bodies));
    database.remap();
    return work(database);
  });
}

describe('drift in the report', () => {
  it('has counts', async () => {
    await withPayloads(BODIES, {}, async ({ report }) => {
      const { drift, cannotSee } = reportSchema.parse(await report());
      const counts = { pairs: 2, compared: 2, differing: 1 };
      const models = [{ model: INVOICES, ...counts, sample: '2' }];
      expect(drift).toMatchObject({ measured: true, ...counts, models });
      expect(cannotSee.map(({ code }) => code)).toContain('other_fields');
      expect(cannotSee.map(({ code }) => code)).not.toContain('drift_not_measured');
    });
  });

  it('is one line of the summary, and nothing without drift', async () => {
    await withPayloads(BODIES, {}, async ({ write, remap, report }) => {
      const line = `\nDrift: 1 of 2 matched records differs in fields that both sides have (${INVOICES} 1).\n`;
      expect(renderText(await report(), { width: 200, color: false })).toContain(line);
      write((db) => storePayloads(db, '{}'));
      remap();
      expect(renderText(await report(), { width: 200, color: false })).not.toContain('Drift');
    });
  });
});

it.each([
  [{}, 1],
  [{ '*': ['total'] }, 0],
  [{ [INVOICES]: ['total'] }, 0],
  [{ 'crm/companies': ['total'] }, 1],
])('with drift.ignore %j, %i record differs', async (ignore, differing) => {
  await withDatabase(TWO, { drift: { ignore } }, async ({ write, remap, report }) => {
    write((db) => savePayloads(db, new Map([...BODIES, [1n, { total: 5 }], [12n, BODIES.get(2n) ?? {}]])));
    remap();
    expect((await report()).drift).toMatchObject({ compared: 2, differing });
  });
});

it('drift follows the findings in NDJSON, with the fields for evidence', async () => {
  await withPayloads(BODIES, {}, async ({ config }) => {
    const io = newIo();
    await runNamed('report', givenOf(config, { ndjson: '-' }), io);
    expect(io.stdout.text.replace(/\n$/, '')).not.toMatch(/[\u0000-\u001f\u202e]/);
    expect(JSON.parse(io.stdout.text)).toMatchObject({
      ...{ model: INVOICES, path: '', v3_svc_id: '2', v4_svc_id: '12', status: 'matched', reason: null },
      evidence: { drift: [{ v4: '' }, { field: 'long', v4: 'y' }] },
    });
  });
});

it('drift is of the V3 companies that a report is narrowed to', async () => {
  const exported: Exported = {
    v3: [
      { id: 1, key: 'a', company: 5, facts: 'x=1' },
      { id: 2, key: 'b', company: 6, facts: 'x=2' },
    ],
    v4: [
      { id: 11, key: 'a', company: 50, facts: 'x=1' },
      { id: 12, key: 'b', company: 60, facts: 'x=2' },
    ],
  };
  await withDatabase(exported, {}, async ({ config, write, remap, report }) => {
    write((db) => {
      storePayloads(db, '{"total":1}', "generation = 'v3'");
      storePayloads(db, '{"total":2}', "generation = 'v4'");
    });
    remap();
    const { drift } = await report({ models: null, companies: [6n] });
    expect(drift).toMatchObject({ pairs: 1, compared: 1, differing: 1 });
    const io = newIo();
    await runNamed('report', givenOf(config, { ndjson: '-', company: ['6'] }), io);
    expect(JSON.parse(io.stdout.text)).toMatchObject({ v3_svc_id: '2', v4_svc_id: '12' });
  });
});

describe('a limit on drift', () => {
  const cases: [string, ReadonlyMap<bigint, object>, number, number, number | null][] = [
    ['passes where no more differ', BODIES, 1, 0, 1],
    ['fails where more differ', BODIES, 0, 1, 1],
    ['fails where a payload is missing, whatever it allows', new Map([...BODIES].slice(1)), 100, 1, null],
    ['fails where no payload was kept', new Map(), 100, 1, null],
  ];
  it.each(cases)('%s', async (_, bodies, allowed, exit, actual) => {
    await withPayloads(bodies, { drift: allowed }, async ({ config }) => {
      const io = newIo();
      expect(await judgeRemap({ config, outputs: { json: '-' } }, io)).toBe(exit);
      const { gate, cannotSee, drift } = reportSchema.parse(JSON.parse(io.stdout.text));
      expect(gate.limits.find(({ name }) => name === 'drift')?.actual).toBe(actual);
      expect(drift.measured).toBe(actual !== null);
      expect(cannotSee.some(({ code }) => code === 'drift_not_measured')).toBe(actual === null);
    });
  });

  it('fails where the remap was built without comparing', async () => {
    await withPayloads(BODIES, { drift: 100 }, async ({ config, write }) => {
      write((db) => db.exec('DELETE FROM drift; DELETE FROM drift_scope'));
      expect(await judgeRemap({ config, outputs: {} }, newIo())).toBe(1);
    });
  });

  it('is followed by one of the pairs, not by the file that was just written', async () => {
    await withPayloads(BODIES, { drift: 0 }, async ({ config }) => {
      const io = newIo();
      await judgeRemap({ config, outputs: { ndjson: join(makeFolder(), 'findings.ndjson') } }, io);
      expect(io.stdout.text).toMatch(/\nNext: svc-migrate explain accounting\/invoices 2\n$/);
    });
  });
});
