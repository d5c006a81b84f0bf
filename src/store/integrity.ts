import { createHash } from 'node:crypto';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { MIN_INT64 } from '../domain.js';
import { SvcError } from '../errors.js';
import { must } from '../text/at.js';
import { DAMAGED } from './open.js';
import { type Db, Sqlite } from './sqlite.js';

/** True for an error that the program does not foresee; a damaged file can be its cause. */
export function isBug(error: unknown): boolean {
  return error instanceof SvcError ? error.code === 'internal' : !(error instanceof Sqlite.SqliteError);
}

/** Checks the whole file, its indexes too. @throws SvcError `corrupt_database` */
export function assertUndamaged(db: Db): void {
  checkFile(db, 'integrity_check(1)');
  const lost = db.prepare('select 1 from child where path not in (select id from child_path) limit 1').get();
  if (lost !== undefined) throw damaged('a child has an unknown path');
  const pages = db.prepare<[], { encoding: string; body: Buffer }>('select encoding, body from page');
  for (const { encoding, body } of pages.iterate()) {
    try {
      JSON.parse(String(encoding === 'gzip' ? gunzipSync(body) : brotliDecompressSync(body)));
    } catch {
      throw damaged('a stored page cannot be read');
    }
  }
}

export function checkFile(db: Db, check: 'quick_check(1)' | 'integrity_check(1)'): void {
  const result = db.pragma(check, { simple: true });
  if (result !== 'ok') throw damaged(String(result));
}

function damaged(what: string): SvcError {
  return new SvcError('corrupt_database', `The database is damaged: ${what}.`, { hint: DAMAGED });
}

/** @throws SvcError `corrupt_database` if the remap is not the one whose digest was stored with it */
export function verifyRemap(db: Db): void {
  const sha256 = db.prepare<[], string>('select sha256 from remap_run').pluck().get();
  if (sha256 === undefined || digestRemap(db) === sha256) return;
  throw new SvcError('corrupt_database', 'The remap is not the one that was built: it was changed since.', {
    hint: 'Build it again with `svc-migrate remap`.',
  });
}

/** Larger JSON texts take SQLite twice the time for each row. */
const ROWS_PER_BLOCK = 1024;

/** The SHA-256 over the rows of the remap in their order, and over the tables that describe them. */
export function digestRemap(db: Db): string {
  const hash = createHash('sha256');
  const block = db.prepare<[bigint], { rows: string; count: bigint; last: bigint }>(`
    select json_group_array(json_array(id, group_id, parent, platform_id, v3_svc_id, v4_svc_id, evidence)) as rows,
      count(*) as count, ifnull(max(id), 0) as last
    from (select * from remap_row where id >= ? order by id limit ${ROWS_PER_BLOCK})`);
  let from = MIN_INT64;
  for (let isFull = true; isFull; ) {
    const { rows, count, last } = must(block.get(from), 'block of rows');
    hash.update(rows);
    isFull = count === BigInt(ROWS_PER_BLOCK);
    from = last + 1n;
  }
  hash.update(must(db.prepare<[], string>(COUNTS).pluck().get(), 'remap'));
  for (const table of DESCRIPTIONS) {
    const columns = db.prepare(`select * from ${table}`).columns();
    const row = `json_array(${columns.map(({ name }) => name).join(', ')})`;
    const rows = db.prepare<[], string>(`select ${row} from ${table} order by 1`).pluck();
    for (const text of rows.iterate()) hash.update(text);
    hash.update('\n');
  }
  return hash.digest('hex');
}

const COUNTS = 'select json_array(complete, v3_exported, v3_rows, v4_exported, v4_seen) from remap_run';
const DESCRIPTIONS = ['remap_group', 'company', 'remap_day', 'backfill_window', 'decision', 'exported_count'];
