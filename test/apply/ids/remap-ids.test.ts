import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ModelIds } from '../../../src/apply/ids/model-ids.js';
import { RemapIds } from '../../../src/apply/ids/remap-ids.js';
import { openDatabase } from '../../../src/store/open.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { prepareLookup } from '../../../src/store/verified-remap.js';
import { codeOf } from '../../support/code-of.js';
import { allowEdits } from '../../support/remap-edits.js';
import { INVOICES, makeRemap, type RemapRow } from '../support/remap.js';

const ref = { model: INVOICES, path: '' };
const options = { ref, isScoped: false, mapDeleted: false };
const ANYWHERE = { path: '', region: null, companyId: null };
const COMPANIES = { ...options, ref: { model: 'crm/companies', path: '' } };

/** Two models that share no block, and an id with two rows. */
function rows(count = 300): RemapRow[] {
  const own = Array.from({ length: count }, (_, at) => ({ v3: at, v4: at + 10_000, platformId: `p${at}` }));
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
  const file = makeRemap(rows());
  const db = openDatabase(file, 'write');
  allowEdits(db);
  db.exec(sql);
  db.close();
  return new RemapIds(openDatabase(file, 'read'));
}

function answersOf(ids: ModelIds) {
  return Array.from({ length: ids.slots }, (_, slot) => [
    ids.answerAt(slot)?.category,
    ids.v4At(slot),
  ]).filter(([category]) => category !== undefined);
}

describe('RemapIds', () => {
  it('loads a model, and finds what is not mapped to one id', () => {
    const ids = openAltered('SELECT 1');
    const loaded = ids.load(options);
    expect(answersOf(loaded)).toHaveLength(300);
    expect(loaded.v4At(loaded.find(5))).toBe(10_005);
    expect(ids.load(options)).toBe(loaded);
    for (const other of [{ isScoped: true }, { mapDeleted: true }])
      expect(ids.load({ ...options, ...other })).not.toBe(loaded);
    expect([ids.hasV4(ref, 10_005), ids.hasV4(ref, 20_005)]).toEqual([true, false]);
    expect(ids.rowsOf(ref, 7, false).map(({ v4, region }) => [v4, region])).toEqual([
      [10_007n, 'default'],
      [8n, 'us'],
    ]);
    expect(ids.refs().map(({ model }) => model)).toEqual([INVOICES, 'crm/companies']);
  });

  it.each([
    ['another V4 id', 'UPDATE remap_entry SET v4_svc_id = 1 WHERE id = 200'],
    ['another V3 id', 'UPDATE remap_entry SET v3_svc_id = 301 WHERE id = 200'],
    ['another status', "UPDATE remap_entry SET status = 'deleted' WHERE id = 1"],
    ['another path', "UPDATE remap_entry SET path = 'lines' WHERE id = 300"],
    ['another model', "UPDATE remap_entry SET model = 'crm/companies' WHERE id = 128"],
    ['a row less', 'DELETE FROM remap_entry WHERE id = 129'],
  ])('loads no model in which a row was changed: %s', (_, sql) => {
    const ids = openAltered(sql);
    expect(codeOf(() => ids.load(options))).toBe('corrupt_database');
    // the models are those of the groups
    if (codeOf(() => ids.refs()) !== 'corrupt_database')
      expect(ids.refs()).toEqual(openAltered('SELECT 1').refs());
  });

  it('does not load a row that was added, as its model ends before', () => {
    const ids = openAltered('INSERT INTO remap_entry SELECT * FROM remap_entry WHERE id = 1');
    expect(answersOf(ids.load(options))).toEqual(answersOf(openAltered('SELECT 1').load(options)));
    expect(codeOf(() => ids.rowsOf(ref, 0, false))).toBe('corrupt_database');
  });

  it('does not read other models', () => {
    const ids = openAltered("UPDATE remap_entry SET v4_svc_id = 1 WHERE model = 'crm/companies'");
    expect(answersOf(ids.load(options))).toHaveLength(300);
    expect(codeOf(() => ids.load(COMPANIES))).toBe('corrupt_database');
    expect(codeOf(() => ids.hasV4(COMPANIES.ref, 1))).toBe('corrupt_database');
  });

  it('knows which models, child paths and regions there are', () => {
    const ids = openAltered('SELECT 1');
    const models = [ref, COMPANIES.ref, { ...ref, path: 'lines' }, { model: 'crm/contacts', path: '' }];
    expect(models.map((one) => ids.holdsModel(one))).toEqual([true, true, false, false]);
    expect(['us', 'mars'].map((one) => ids.holdsRegion(one))).toEqual([true, false]);
  });

  it.each([
    ['a model more', "UPDATE remap_entry SET model = 'crm/contacts' WHERE id = 200"],
    ['a path more', "UPDATE remap_entry SET path = 'lines' WHERE id = 500"],
    ['a region more', "UPDATE remap_entry SET region = 'mars' WHERE id = 200"],
    ['a model less', "DELETE FROM remap_group WHERE model = 'crm/companies'"],
    ['a region less', "UPDATE remap_group SET region = 'default' WHERE region = 'us'"],
  ])('notices changes that make a model or region come or go: %s', (what, sql) => {
    const ids = openAltered(sql);
    const others = { model: what === 'a model less' ? 'crm/companies' : 'crm/contacts', path: '' };
    const held = what.startsWith('a path') ? { model: 'crm/companies', path: 'lines' } : others;
    const region = what === 'a region less' ? 'us' : 'mars';
    const ask = () => (what.startsWith('a region') ? ids.holdsRegion(region) : ids.holdsModel(held));
    expect(codeOf(ask)).toBe('corrupt_database');
  });

  it('finds no row by an index that is older than the table', () => {
    const file = makeRemap([
      { v3: 1, v4: 11 },
      { v3: 2, v4: 12 },
    ]);
    // Each row takes the place of the next one, but the index does not hear of it.
    editHidden(file, 'UPDATE remap_row SET id = 3 WHERE id = 2; UPDATE remap_row SET id = 2 WHERE id = 1');
    const db = openDatabase(file, 'read');
    expect(codeOf(() => prepareLookup(db)('v3', INVOICES, 2n, ANYWHERE))).toBe('corrupt_database');
    const ids = new RemapIds(db);
    expect(codeOf(() => ids.rowsOf(ref, 2, false))).toBe('corrupt_database');
    expect(codeOf(() => ids.hasV4(ref, 12))).toBe('corrupt_database');
    expect(codeOf(() => ids.rowsOf(ref, 1, false))).toBe('corrupt_database');
  });

  it('notices a row that is there but not found by its rowid', () => {
    const file = makeRemap(rows(4000));
    const hidden = moveBorder(file);
    const ids = new RemapIds(openDatabase(file, 'read'));
    // The rows count their V3 ids from 0 and their rowids from 1.
    expect(ids.rowsOf(ref, hidden - 2, false)).toHaveLength(1);
    expect(codeOf(() => ids.rowsOf(ref, hidden - 1, false))).toBe('corrupt_database');
    expect(codeOf(() => ids.hasV4(ref, hidden - 1 + 10_000))).toBe('corrupt_database');
  });
});

/** In the page above the leaves of the table, lets the first leaf end one row too late; returns the rowid of that row. */
function moveBorder(file: string): number {
  const db = new Sqlite(file);
  db.pragma('wal_checkpoint(TRUNCATE)');
  const root = Number(
    db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'remap_row'").pluck().get(),
  );
  const size = Number(db.pragma('page_size', { simple: true }));
  db.close();
  const bytes = readFileSync(file);
  const page = bytes.subarray((root - 1) * size, root * size);
  expect(page.readUInt8(0)).toBe(5);
  // The number of the leaf, then its last rowid: seven bits in each byte, here two.
  const border = page.readUInt16BE(12) + 4;
  const last = page.readUInt16BE(border);
  expect(last & 0x8080).toBe(0x8000);
  page.writeUInt16BE(last + 1, border);
  writeFileSync(file, bytes);
  return ((last >> 8) & 127) * 128 + (last & 127) + 1;
}

/** Changes the table while SQLite does not know of its indexes. */
function editHidden(file: string, sql: string): void {
  const edit = (statements: string) => {
    const db = new Sqlite(file);
    db.unsafeMode(true);
    db.exec(`PRAGMA writable_schema = ON; ${statements}`);
    db.close();
  };
  edit(`CREATE TABLE saved AS SELECT * FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'remap';
    DELETE FROM sqlite_schema WHERE name IN (SELECT name FROM saved)`);
  edit(`${sql}; INSERT INTO sqlite_schema SELECT * FROM saved; DROP TABLE saved`);
}
