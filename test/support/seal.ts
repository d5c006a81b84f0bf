import { checksumOf, ID_SUM } from '../../src/store/checksum.js';
import { type Db, openDatabase } from '../../src/store/open.js';
import { digestRemap, sealRun } from '../../src/store/remap-digest.js';
import { sealV4Companies } from '../../src/store/streams.js';
import { allowEdits, countGroups } from './remap-edits.js';

/** Gives rows that no export and no remap wrote the checksums, counters and digests that they would have. */
export function seal(db: Db): void {
  db.exec(`
    UPDATE record SET checksum = ${checksumOf('record')};
    UPDATE stream SET stored = (SELECT count(*) FROM record WHERE stream_id = stream.id);
    UPDATE stream SET position = json_set(position, '$.excluded', found.n, '$.excludedSum', found.sum)
      FROM (SELECT stream_id, count(*) AS n, ${ID_SUM} AS sum FROM excluded GROUP BY stream_id) AS found
      WHERE found.stream_id = stream.id;
    UPDATE stream SET checksum = ${checksumOf('stream')};
    UPDATE meta SET checksum = ${checksumOf('meta')};
    UPDATE remap_run SET checksum = ${checksumOf('remap_run')};
  `);
  sealV4Companies(db);
  countGroups(db);
  const run = db.prepare<[], bigint | null>('SELECT max(id) FROM remap_run').pluck().get() ?? null;
  if (run !== null) sealRun(db, run, digestRemap(db));
}

/** Changes a database as if its export or remap had written it so. */
export function alterDatabase(file: string, sql: string): void {
  const db = openDatabase(file, 'write');
  try {
    allowEdits(db);
    db.exec(sql);
    seal(db);
  } finally {
    db.close();
  }
}
