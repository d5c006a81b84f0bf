import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_INT64, MIN_INT64 } from '../../src/domain.js';
import { checksumOf } from '../../src/store/checksum.js';
import { readMeta, writeMeta } from '../../src/store/meta.js';
import type { Db } from '../../src/store/open.js';
import { type PagePlace, prepareSaveRecords } from '../../src/store/records.js';
import { prepareSaveExcluded, prepareSaveRejected } from '../../src/store/stream-contents.js';
import { ensureStreams, listStreams, prepareSaveStream } from '../../src/store/streams.js';
import { campaign } from '../support/campaign.js';
import { codeOf } from '../support/code-of.js';
import { plansOf, scansInLoops } from '../support/query-plans.js';
import { type Child, renderChildren } from '../support/stored-children.js';
import { addStreams, openTestDatabase, record, verifyExport } from './support.js';

/** Two pages of which one record came twice and was newer; then a record of an older reading was dropped. */
function newDatabase(): Db {
  const db = openTestDatabase();
  const [row] = addStreams(db, 'accounting/invoices', 'crm/companies');
  if (row === undefined) throw new Error('No stream.');
  const place: PagePlace = { streamId: row.id, walk: 1, keepFrom: 1, passWalk: 1, previousWalk: null };
  const save = prepareSaveRecords(db, 'full');
  save(place, [
    record({
      svcId: 1n,
      members: { names: '[]', words: Int32Array.of(0, 1) },
      latestMs: 3,
      latestFrom: 'platform',
    }),
    record({ svcId: 2n }),
  ]);
  save(place, [
    record({ svcId: 2n, updatedMs: 6, platformId: 'é\u0000"' }),
    record({ svcId: 3n, children: renderChildren([child('l')]) }),
  ]);
  prepareSaveRejected(db)(row, [
    { position: 4, path: '', reason: 'no_svc_id', raw: Buffer.from('{}') },
    { position: 5, path: 'line_items', reason: 'bad_svc_id', raw: Buffer.from('[]') },
  ]);
  const { unique: excluded, sum: excludedSum } = prepareSaveExcluded(db)(row.id, 1, [MAX_INT64, 4n, -5n, 4n]);
  const position = { ...row.position, excluded, excludedSum };
  prepareSaveStream(db)({ ...row, state: 'complete', uniqueRecords: 3, rejected: 1, position });
  ensureStreams(db, [{ key: { ...row }, route: 'other' }], 'now');
  writeMeta(db, 'fingerprint_v3', '{"v3.baseUrl":"https://a"}');
  return db;
}

const check = verifyExport;

function child(platformId: string): Child {
  return { path: 'line_items', svcId: 9n, platformId, platformUniqueId: null, deleted: false };
}

describe('exported data', () => {
  it('are verified without reading all lists again for each list', () => {
    const db = newDatabase();
    const plans = plansOf(db, () => check(db));
    for (const { sql, steps } of plans)
      expect([sql, scansInLoops(steps).filter((step) => !step.includes('VIRTUAL TABLE'))]).toEqual([sql, []]);
    const read = plans.flatMap(({ steps }) => steps.map(({ detail }) => detail)).join('\n');
    for (const table of ['stream', 'record', 'rejected', 'v4_company'])
      expect(read).toContain(`SCAN ${table}`);
  });

  it('are accepted as they were saved', () => {
    expect(() => check(newDatabase())).not.toThrow();
  });

  it('are accepted with any values, when they arrive and when they change', () => {
    const text = fc.string({ unit: 'binary' }).map((value) => value.replace(/\p{Surrogate}/gu, ''));
    const id = fc.bigInt({ min: MIN_INT64, max: MAX_INT64 });
    const ms = fc.option(fc.integer({ min: -8_640_000_000_000_000, max: 8_640_000_000_000_000 }));
    const values = fc.record({
      companyId: id,
      platformId: fc.option(text),
      platformUniqueId: fc.option(text),
      deleted: fc.boolean(),
      latestMs: ms,
      latestFrom: fc.constantFrom('platform', 'service', null),
      createdMs: fc.constantFrom(null, -0, 0, 1.5e12, -1),
      members: fc.option(
        fc.int32Array({ minLength: 2 }).map((words) => ({ names: `["${words[1]}"]`, words })),
      ),
      children: fc.option(text.map((key) => renderChildren([child(key)]))),
    });
    const db = openTestDatabase();
    const [row] = addStreams(db, 'accounting/invoices', 'crm/companies');
    if (row === undefined) throw new Error('No stream.');
    writeMeta(db, 'fingerprint_v3', '{}');
    const save = prepareSaveRecords(db, 'full');
    let walk = 1;
    fc.assert(
      fc.property(id, values, values, (svcId, first, later) => {
        for (const one of [first, later]) {
          const place = { streamId: row.id, walk, keepFrom: walk, passWalk: walk, previousWalk: null };
          save(place, [record({ ...one, svcId, updatedMs: walk++ })]);
        }
        check(db);
      }),
      { numRuns: campaign({ small: 20, full: 100 }) },
    );
  });

  it.each([
    'UPDATE record SET svc_id = svc_id + 10 WHERE svc_id = 2',
    "UPDATE record SET platform_id = 'q' WHERE svc_id = 1",
    'UPDATE record SET platform_id = NULL WHERE svc_id = 1',
    "UPDATE record SET unique_id = 'u' WHERE svc_id = 1",
    'UPDATE record SET company_id = 8 WHERE svc_id = 1',
    'UPDATE record SET deleted = 1 WHERE svc_id = 3',
    'UPDATE record SET updated_ms = updated_ms + 1 WHERE svc_id = 3',
    'UPDATE record SET latest_ms = latest_ms + 1 WHERE svc_id = 1',
    "UPDATE record SET latest_from = 'service' WHERE svc_id = 1",
    'UPDATE record SET created_ms = 1 WHERE svc_id = 1',
    'UPDATE record SET members = NULL WHERE svc_id = 1',
    'UPDATE record SET members = zeroblob(length(members)) WHERE svc_id = 1',
    "UPDATE record SET children = replace(children, '9', '8') WHERE svc_id = 3",
    'UPDATE record SET stream_id = 2 WHERE svc_id = 3',
    'DELETE FROM record WHERE svc_id = 3',
    `INSERT INTO record(stream_id, svc_id, company_id, platform_id, deleted, walk, checksum)
       SELECT stream_id, 99, company_id, platform_id, deleted, walk, checksum FROM record WHERE svc_id = 1`,
    "DELETE FROM rejected WHERE path = ''",
    'DELETE FROM excluded WHERE svc_id = 4',
    'UPDATE excluded SET svc_id = 6 WHERE svc_id = 4',
    'UPDATE excluded SET svc_id = svc_id & ~(1 << 62) WHERE svc_id > 4',
    'UPDATE excluded SET stream_id = 2 WHERE svc_id = 4',
    'INSERT INTO excluded VALUES (1, 9, 1)',
    'INSERT INTO excluded VALUES (2, 9, 1)',
    'DELETE FROM stream WHERE id = 1',
    "UPDATE stream SET state = 'failed' WHERE id = 1",
    "UPDATE stream SET state = 'complete' WHERE id = 2",
    "UPDATE stream SET model = 'x' WHERE id = 1",
    'UPDATE stream SET unique_records = 4 WHERE id = 1',
    "UPDATE stream SET position = '{' WHERE id = 1",
    "UPDATE stream SET position = '{}' WHERE id = 1",
  ])('are refused after %s', (sql) => {
    const db = newDatabase();
    expect(db.prepare(sql).run().changes).toBeGreaterThan(0);
    expect(codeOf(() => check(db))).toBe('corrupt_database');
    // also of a list that is not configured
    expect(codeOf(() => check(db, ['crm/companies']))).toBe('corrupt_database');
  });

  it.each([
    "UPDATE meta SET value = '{}'",
    "UPDATE meta SET key = 'x' WHERE key = 'fingerprint_v3'",
    "DELETE FROM meta WHERE key = 'fingerprint_v3'",
    'DELETE FROM meta',
  ])('settings are refused after %s', (sql) => {
    const db = newDatabase();
    db.exec(sql);
    expect(codeOf(() => readMeta(db, 'fingerprint_v3') ?? readMeta(db, 'x'))).toBe('corrupt_database');
  });

  it('accept excluded ids of a list of an earlier version, which kept only their number', () => {
    const db = newDatabase();
    db.exec(`UPDATE stream SET position = json_remove(position, '$.excludedSum');
      UPDATE stream SET checksum = ${checksumOf('stream')};
      UPDATE excluded SET svc_id = 6 WHERE svc_id = 4`);
    expect(() => check(db)).not.toThrow();
    db.exec('DELETE FROM excluded WHERE svc_id = 6');
    expect(codeOf(() => check(db))).toBe('corrupt_database');
  });

  it('settings of an earlier version, which did not list their names, are accepted', () => {
    const db = newDatabase();
    writeMeta(db, 'other', '{}');
    db.exec("DELETE FROM meta WHERE key IN ('names', 'fingerprint_v3')");
    expect(readMeta(db, 'fingerprint_v3')).toBeNull();
    writeMeta(db, 'other', '{"version":1}');
    db.exec("DELETE FROM meta WHERE key = 'other'");
    expect(codeOf(() => readMeta(db, 'fingerprint_v3'))).toBe('corrupt_database');
  });

  it('are refused wherever an altered list is read', () => {
    const db = newDatabase();
    db.exec("UPDATE stream SET state = 'complete' WHERE id = 2");
    expect(codeOf(() => listStreams(db))).toBe('corrupt_database');
  });
});
