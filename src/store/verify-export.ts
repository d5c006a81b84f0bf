import { checksumOf, damaged } from './checksum.js';
import type { Db } from './open.js';
import { readSlices } from './slices.js';
import { listStreams, readCompanyList } from './streams.js';

interface SliceCount {
  readonly stream_id: bigint;
  readonly n: bigint;
  readonly intact: bigint;
}

/**
 * Compares every stored record with its checksum, and the records of each stream with how many were saved.
 *
 * @throws SvcError `corrupt_database`; what `assertGoing` throws, asked between slices
 */
export function verifyExport(db: Db, assertGoing: () => void): void {
  const names = new Map(
    listStreams(db).map(({ id, generation, model }) => [
      id,
      `a ${generation.toUpperCase()} list of ${model}`,
    ]),
  );
  readCompanyList(db);
  const found = new Map<bigint, bigint>();
  const sql = `
    SELECT stream_id, count(*) AS n, sum(checksum = ${checksumOf('record')}) AS intact
    FROM record WHERE id BETWEEN @from AND @to GROUP BY stream_id`;
  for (const { rows } of readSlices<SliceCount>(db, 'record', sql, {})) {
    assertGoing();
    for (const { stream_id: id, n, intact } of rows) {
      if (n !== intact)
        throw damaged(`A stored record of ${names.get(id) ?? 'no list'}`, { records: n - intact });
      found.set(id, (found.get(id) ?? 0n) + n);
    }
  }
  for (const [id, stored] of readStored(db)) {
    const n = found.get(id) ?? 0n;
    if (n !== stored)
      throw damaged(`The number of stored records of ${names.get(id)}`, { saved: stored, found: n });
    found.delete(id);
  }
  if (found.size > 0) throw damaged('A stored record belongs to no list: it');
}

function readStored(db: Db): [id: bigint, stored: bigint][] {
  return db.prepare<[], [bigint, bigint]>('SELECT id, stored FROM stream').raw().all();
}
