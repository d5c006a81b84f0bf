import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RemapIds } from '../../../src/apply/ids/remap-ids.js';
import { openDatabase } from '../../../src/store/open.js';
import { codeOf } from '../../support/code-of.js';
import { makeFolder } from '../support/folder.js';
import { createRemap, INVOICES, type RemapRow } from '../support/remap.js';

const ref = { model: INVOICES, path: '' };
const options = { ref, isScoped: false, mapDeleted: false };
const COMPANIES = { ...options, ref: { model: 'crm/companies', path: '' } };

/** Two models that share no block, and an id with two rows. */
function rows(): RemapRow[] {
  const own = Array.from({ length: 300 }, (_, at) => ({ v3: at, v4: at + 10_000, platformId: `p${at}` }));
  const others = Array.from({ length: 300 }, (_, at) => ({
    v3: at,
    v4: at + 20_000,
    model: 'crm/companies',
  }));
  return [
    ...own,
    { v3: 7, v4: 8, region: 'us' },
    ...Array.from({ length: 83 }, () => ({ v3: null })),
    ...others,
  ];
}

/** The ids of a remap in which `sql` changed something after it was sealed. */
function openAltered(sql: string): RemapIds {
  const file = join(makeFolder(), 'remap.db');
  createRemap(file, rows());
  const db = openDatabase(file, 'write');
  db.exec(sql);
  db.close();
  return new RemapIds(openDatabase(file, 'read'));
}

describe('RemapIds', () => {
  it('loads a model, and finds what is not mapped to one id', () => {
    const ids = openAltered('SELECT 1');
    const loaded = ids.load(options);
    expect(loaded.answers).toHaveLength(300);
    expect(loaded.answers[loaded.find(5)]).toBe(10_005);
    expect(ids.load(options)).toBe(loaded);
    expect([ids.hasV4(ref, 10_005), ids.hasV4(ref, 20_005)]).toEqual([true, false]);
    expect(ids.rowsOf(ref, 7, false).map(({ v4, region }) => [v4, region])).toEqual([
      [10_007n, 'default'],
      [8n, 'us'],
    ]);
    expect(ids.refs().map(({ model }) => model)).toEqual([INVOICES, 'crm/companies']);
  });

  it.each([
    ['another V4 id', 'UPDATE remap SET v4_svc_id = 1 WHERE rowid = 200'],
    ['another V3 id', 'UPDATE remap SET v3_svc_id = 301 WHERE rowid = 200'],
    ['another status', "UPDATE remap SET status = 'deleted' WHERE rowid = 1"],
    ['another path', "UPDATE remap SET path = 'lines' WHERE rowid = 300"],
    ['another model', "UPDATE remap SET model = 'crm/companies' WHERE rowid = 128"],
    ['a row less', 'DELETE FROM remap WHERE rowid = 129'],
    ['a row more', `INSERT INTO remap SELECT * FROM remap WHERE rowid = 1`],
  ])('loads no model in which a row was changed: %s', (_, sql) => {
    const ids = openAltered(sql);
    expect(codeOf(() => ids.load(options))).toBe('corrupt_database');
    expect(codeOf(() => ids.refs())).toBe('corrupt_database');
  });

  it('does not read other models', () => {
    const ids = openAltered("UPDATE remap SET v4_svc_id = 1 WHERE model = 'crm/companies'");
    expect(ids.load(options).answers).toHaveLength(300);
    expect(ids.hasV4(ref, 10_005)).toBe(true);
    expect(codeOf(() => ids.load(COMPANIES))).toBe('corrupt_database');
    expect(codeOf(() => ids.hasV4(COMPANIES.ref, 1))).toBe('corrupt_database');
  });
});
