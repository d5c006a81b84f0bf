import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { buildFingerprint } from '../../src/config/config.js';
import { openRemap, type Remap, SvcError } from '../../src/index.js';
import { saveFingerprint } from '../../src/store/fingerprint.js';
import { type Exported, INVOICES } from '../support/exported.js';
import { withDatabase } from './support.js';

const BIG = { v3: 2n ** 63n - 1n, v4: 2n ** 63n - 2n };
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** One pair with children, one with ids that no number holds, and one record on each side without a twin. */
const EXPORTED: Exported = {
  v3: [
    { id: 1, key: 'a', facts: 'x=1', kids: [{ id: 11, key: 'line' }] },
    { id: BIG.v3, key: 'b', facts: 'x=2' },
    { id: 3, key: 'gone', facts: 'x=3' },
    { id: 4, key: 'dead', facts: 'x=4', deleted: true },
    { id: 7, key: 'long', facts: 'x=7' },
  ],
  v4: [
    { id: 2, key: 'a', facts: 'x=1', kids: [{ id: 21, key: 'line' }] },
    { id: BIG.v4, key: 'b', facts: 'x=2' },
    { id: 5, key: 'new', facts: 'x=5' },
    { id: 6, key: 'dead', facts: 'x=4' },
    { id: 2n ** 62n, key: 'long', facts: 'x=7' },
  ],
};

function withRemap(work: (remap: Remap) => void): Promise<void> {
  return withDatabase(EXPORTED, {}, ({ config }) => {
    const remap = openRemap(config.database);
    try {
      work(remap);
    } finally {
      remap.close();
    }
  });
}

describe('find', () => {
  it.each([
    ['v3', 1, 'matched', [1n, 2n]],
    ['v4', 2, 'matched', [1n, 2n]],
    ['v3', BIG.v3, 'matched', [BIG.v3, BIG.v4]],
    ['v4', String(BIG.v4), 'matched', [BIG.v3, BIG.v4]],
    ['v3', 3, 'unmatched', [3n, null]],
    ['v4', 5, 'v4_only', [null, 5n]],
    ['v3', 4, 'deleted', [4n, 6n]],
    ['v3', 2, 'unknown', [2n, null]],
    ['v4', 1, 'unknown', [null, 1n]],
  ] as const)('%s %s is %s', async (from, id, status, ids) => {
    await withRemap((remap) => {
      const answer = remap.find(INVOICES, id, { from });
      expect([answer.status, [answer.v3Id, answer.v4Id]]).toEqual([status, ids]);
      expect(answer.reason === null).toBe(status === 'matched' || status === 'unknown');
    });
  });

  it('answers from a remap that was built meanwhile, whose rows have other places', async () => {
    await withDatabase(EXPORTED, {}, ({ config, write, remap: rebuild }) => {
      const remap = openRemap(config.database);
      const answers = () => [3, 7].map((id) => remap.v4Id(INVOICES, id));
      const before = answers();
      write((db) => db.exec('DELETE FROM record WHERE svc_id = 1'));
      rebuild();
      expect([before, answers()]).toEqual([before, [null, 2n ** 62n]]);
      remap.close();
    });
  });

  it('takes a company of the generation that the id is of', async () => {
    await withRemap((remap) => {
      const { v3CompanyId, v4CompanyId } = remap.find(INVOICES, 2, { from: 'v4' });
      const within = (companyId: bigint) => remap.find(INVOICES, 2, { from: 'v4', companyId }).status;
      expect([within(v4CompanyId ?? 0n), within((v3CompanyId ?? 0n) + 1000n)]).toEqual([
        'matched',
        'unknown',
      ]);
    });
  });
});

describe('what was not exported', () => {
  it.each([
    ['a model', 'accounting/invoice', {}, 'Did you mean "accounting/invoices"?'],
    ['a region', INVOICES, { region: 'defualt' }, 'Did you mean "default"?'],
    ['a field with children', INVOICES, { path: 'line_item' }, 'Did you mean "line_items"?'],
  ])('is an error with a suggestion: %s', async (_, model, where, hint) => {
    await withDatabase(EXPORTED, {}, ({ write, config }) => {
      write((db) => saveFingerprint(db, 'v3', buildFingerprint(config)));
      const asked = openRemap(config.database);
      const refused = expect.objectContaining({ code: 'usage', hint });
      expect(() => asked.find(model, 1, where)).toThrow(refused);
      expect(() => asked.v4Id(model, 1, where)).toThrow(refused);
      const paths = { id: { model, ...where } };
      expect(() => asked.translateEvent('{"id":1}', paths)).toThrow(refused);
      expect(asked.find(INVOICES, 99, { region: 'default', path: 'line_items' }).status).toBe('unknown');
      asked.close();
    });
  });

  it('is an error for a missing file', () => {
    const open = () => openRemap(join(ROOT, 'no-such.db'));
    expect(open).toThrow(SvcError);
    expect(open).toThrow(expect.objectContaining({ code: 'bad_input' }));
  });
});

describe('translateEvent', () => {
  const paths = { '$.data.id': INVOICES, '$.data.lines[*].id': { model: INVOICES, path: 'line_items' } };

  it('replaces ids in JSON text and nothing else', async () => {
    await withRemap((remap) => {
      const text = ` {"id": 1, "data": {"id": "1", "n": 1.50, "lines": [ {"id": 11}, {"id":null} ]} }\n`;
      const { event, ids, missing, isComplete } = remap.translateEvent(text, paths);
      expect(event).toBe(text.replace('"id": "1"', '"id": "2"').replace('11', '21'));
      expect(ids.map(({ path, v3Id, v4Id, stale }) => [path, v3Id, v4Id, stale])).toEqual([
        ['$.data.id', 1n, 2n, false],
        ['$.data.lines[*].id', 11n, 21n, false],
      ]);
      expect([missing, isComplete]).toEqual([[], true]);
    });
  });

  it('keeps every digit of a 64-bit id', async () => {
    await withRemap((remap) => {
      const { event } = remap.translateEvent(`{"data":{"id":${BIG.v3}}}`, { 'data.id': INVOICES });
      expect(event).toBe(`{"data":{"id":${BIG.v4}}}`);
    });
  });

  it.each([
    ['{"data":{"id":3,"lines":[]}}', '{"data":{"id":null,"lines":[]}}', ['unmatched']],
    ['{"data":{"id":"99","lines":[]}}', '{"data":{"id":null,"lines":[]}}', ['unknown']],
    ['{"data":{"lines":[]}}', '{"data":{"lines":[]}}', []],
  ])('leaves no V3 id where there is none of V4: %s', async (given, expected, statuses) => {
    await withRemap((remap) => {
      const { event, ids, isComplete } = remap.translateEvent(given, paths);
      expect([event, ids.map(({ status }) => status), isComplete]).toEqual([expected, statuses, false]);
    });
  });

  it.each([
    ['a value that is no id', '{"data":{"id":{"a":1}}}', { 'data.id': INVOICES }, RangeError],
    ['a fraction', '{"data":{"id":1.0}}', { 'data.id': INVOICES }, RangeError],
    ['a path that is none', '{}', { 'data[': INVOICES }, RangeError],
    ['two paths to one value', '{"id":1}', { id: INVOICES, '$.*': INVOICES }, RangeError],
    ['text that is not JSON', '{"id":1', { id: INVOICES }, SyntaxError],
  ])('refuses %s', async (_, event, wrong, error) => {
    await withRemap((remap) => {
      expect(() => remap.translateEvent(event, wrong)).toThrow(error);
    });
  });
});

describe('the examples of the library', () => {
  const page = readFileSync(join(ROOT, 'src/docs/library.md'), 'utf8');
  const examples = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, text = '']) => text);

  it('run as they stand', async () => {
    expect(examples.length).toBeGreaterThan(1);
    const exported: Exported = {
      v3: [{ id: 1001, key: 'a', facts: 'x=1' }],
      v4: [{ id: 5005, key: 'a', facts: 'x=1' }],
    };
    await withDatabase(exported, {}, ({ config }) => {
      const folder = dirname(config.database);
      mkdirSync(join(folder, 'node_modules'));
      symlinkSync(ROOT, join(folder, 'node_modules/svc-migrate'));
      for (const [at, text] of examples.entries()) {
        const file = join(folder, `example-${at}.mjs`);
        writeFileSync(file, text.replace('svc-migrate.db', config.database));
        const { stdout, status } = spawnSync(process.execPath, [file], { encoding: 'utf8' });
        expect([status, stdout]).toEqual([0, expect.stringContaining('5005')]);
      }
    });
  });
});
