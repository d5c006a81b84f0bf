import { expect, it } from 'vitest';
import { readLastRun } from '../../src/store/remap-tables.js';
import { configOf, openExported, type Thing } from '../support/exported.js';
import { remapOf } from '../support/remap-rows.js';
import { seal } from '../support/seal.js';

const v3: Thing[] = [{ id: 1, key: 'a', kids: [{ id: 5, key: 'x' }] }];
const v4: Thing[] = [
  { id: 11, key: 'a', kids: [{ id: 15, key: 'x' }] },
  { id: 12, key: 'later', created: '2099-01-01T00:00:00Z' },
];

/** Row texts and the digest of a remap of the data, with V3 read at a time. */
function build(readUntil: string, changed: readonly Thing[] = v4) {
  const config = configOf({ companies: { match: 'same_id', include: [], exclude: [] } });
  const { db, close } = openExported(config, { v3, v4: changed });
  db.prepare(
    "UPDATE stream SET position = json_set(position, '$.readUntilMs', ?) WHERE generation = 'v3'",
  ).run(BigInt(Date.parse(readUntil)));
  seal(db);
  const rows = remapOf(db, config).map((row) => row.evidence);
  const sha256 = readLastRun(db)?.sha256;
  close();
  return { rows, sha256 };
}

it('the digest of a remap is of the data, not of when they were read', () => {
  const [first, later] = [build('2026-11-01T00:00:00Z'), build('2026-11-20T00:00:00Z')];
  expect(first.rows.join()).toContain('2026-11-01');
  expect(first.rows).not.toEqual(later.rows);
  expect(first.sha256).toBe(later.sha256);
  expect(build('2026-11-01T00:00:00Z', v4.slice(0, 1)).sha256).not.toBe(first.sha256);
});
