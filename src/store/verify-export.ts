import { checksumOf, damaged } from './checksum.js';
import type { Db } from './open.js';
import { readSlices } from './slices.js';
import { listStreams, readCompanyList } from './streams.js';
import { readV4Companies } from './v4-companies.js';

/**
 * Compares every stored record with its checksum, and the number of records and rejected objects of each list with the
 * number saved. Calls `throwIfStopped` between slices.
 *
 * @throws SvcError `corrupt_database`
 */
export function verifyExport(db: Db, throwIfStopped: () => void): void {
  const names = new Map(
    listStreams(db).map((row) => [row.id, `a ${row.generation.toUpperCase()} list of ${row.model}`]),
  );
  readCompanyList(db);
  readV4Companies(db);
  const sql = `
    SELECT stream_id, svc_id FROM record
    WHERE id BETWEEN @from AND @to AND checksum <> ${checksumOf('record')} LIMIT 1`;
  for (const { rows } of readSlices<{ stream_id: bigint; svc_id: bigint }>(db, 'record', sql, {})) {
    throwIfStopped();
    for (const { stream_id, svc_id } of rows) {
      throw damaged(`A stored record of ${names.get(stream_id) ?? 'no list'}`, { svc_id });
    }
  }
  verifyCounts(db, names);
}

function verifyCounts(db: Db, names: ReadonlyMap<bigint, string>): void {
  const read = (sql: string) => new Map(db.prepare<[], [id: bigint, n: bigint]>(sql).raw().all());
  const lists = [
    {
      what: 'stored records',
      counted: read('SELECT id, stored FROM stream'),
      present: read('SELECT stream_id, count(*) FROM record GROUP BY stream_id'),
    },
    {
      what: 'rejected objects',
      counted: read('SELECT id, rejected FROM stream'),
      // rejected children are listed but not counted
      present: read("SELECT stream_id, count(*) FROM rejected WHERE path = '' GROUP BY stream_id"),
    },
  ];
  for (const { what, counted, present } of lists) {
    for (const id of new Set([...counted.keys(), ...present.keys()])) {
      const counts = { saved: counted.get(id) ?? 0n, found: present.get(id) ?? 0n };
      if (counts.saved === counts.found) continue;
      throw damaged(`The number of ${what} of ${names.get(id) ?? 'no list'}`, counts);
    }
  }
}
