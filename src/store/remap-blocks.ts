import { createHash } from 'node:crypto';
import { MIN_INT64 } from '../domain.js';
import { sha256Of } from '../runtime/sha256.js';
import type { Db } from './open.js';
import { ROWS_PER_BLOCK, readSlices } from './remap-rows.js';
import { RECORD_KEY } from './schema.js';

const ENTRIES_PER_BLOCK = 512;
/** Blocks read before yielding to the caller, which can then check for signals. */
const BLOCKS_PER_STEP = 8;

/** An index of the remap, named by its suffix. */
export type IndexPart = 'v3' | 'v4' | 'key';
export const INDEX_PARTS: readonly IndexPart[] = ['v3', 'v4', 'key'];
/** A table that a remap writes in addition to its rows. */
export type TablePart = 'company' | 'decision' | 'drift' | 'drift_scope';
export const TABLE_PARTS: readonly TablePart[] = ['company', 'decision', 'drift', 'drift_scope'];
/** The counts of exported records that reports use. */
export type ExportedPart = 'exported';

const ROW = `json_array(model, path, region, v3_company_id, v4_company_id, platform_id, parent_platform_id, v3_svc_id,
  v4_svc_id, status, reason, matched_by, evidence, unique_id_conflict)`;

/** Hexadecimal digits of a block's digest: 128 bits of its SHA-256. */
export const DIGEST_LENGTH = 32;

const blockDigest = (text: string) => sha256Of(text).slice(0, DIGEST_LENGTH);

/**
 * Makes the function that digests the rows of a block; blocks are numbered from 0. It returns '' if the rowids are not
 * consecutive from the first of the block, which a digest of the rows does not show.
 */
export function prepareRowBlock(db: Db): (block: number) => string {
  const read = db
    .prepare<[bigint, bigint], [text: string, rows: bigint, rowids: bigint]>(
      `SELECT json_group_array(${ROW}), count(*), ifnull(sum(rowid), 0) FROM remap NOT INDEXED WHERE rowid BETWEEN ? AND ?`,
    )
    .raw();
  return (block) => {
    const last = BigInt((block + 1) * ROWS_PER_BLOCK);
    const first = last - BigInt(ROWS_PER_BLOCK) + 1n;
    const [text, rows, rowids] = read.get(first, last) ?? ['', 0n, 0n];
    return rowids === rows * first + (rows * (rows - 1n)) / 2n ? blockDigest(text) : '';
  };
}

/** Called with ranges of rowids, inclusive. */
export type OnRows = (from: bigint, to: bigint) => void;

/** Digests all rows, block by block; yields `null` regularly and returns the text of all digests. */
export function* digestRows(db: Db, onRows?: OnRows): Generator<null, string> {
  const digest = prepareRowBlock(db);
  const rows = Number(
    db.prepare<[], bigint>('SELECT ifnull(max(rowid), 0) FROM remap NOT INDEXED').pluck().get() ?? 0n,
  );
  const digests: string[] = [];
  const count = Math.ceil(rows / ROWS_PER_BLOCK);
  for (let block = 0; block < count; block += BLOCKS_PER_STEP) {
    const end = Math.min(count, block + BLOCKS_PER_STEP);
    for (let at = block; at < end; at++) digests.push(digest(at));
    onRows?.(BigInt(block * ROWS_PER_BLOCK + 1), BigInt(end * ROWS_PER_BLOCK));
    yield null;
  }
  // Rows with a rowid below 1 are in no block: their number is part of the text.
  const others = db
    .prepare<[], bigint>('SELECT count(*) FROM remap NOT INDEXED WHERE rowid < 1')
    .pluck()
    .get();
  return `${rows} ${others}\n${digests.join('')}`;
}

/**
 * The blocks of an index, by model: the first key of each, where the previous block ends, and its digest. `withoutKey`
 * holds the count and sums of the entries without a key.
 */
export type IndexBlocks = readonly (readonly [
  model: string,
  blocks: readonly (readonly [first: string, digest: string])[],
  withoutKey: string,
])[];

/** A key of an index: an id or a platform_id. */
export type IndexKey = bigint | string;

const KEY_COLUMN = { v3: 'v3_svc_id', v4: 'v4_svc_id', key: 'platform_id' } as const;
/** The range of models in the entries: a damaged model can appear among those of another. */
const MODELS = "ifnull(min(model) || ' ' || max(model), '')";

/** The entries of a block as text: ids and rowids, or JSON. */
const ENTRIES = {
  v3: "group_concat(v3_svc_id || ' ' || rowid, ' ')",
  v4: "group_concat(v4_svc_id || ' ' || rowid, ' ')",
  key: 'json_group_array(json_array(platform_id, rowid, CAST(v3_company_id AS TEXT)))',
} as const;

/** The lowest possible key: the first block of a model begins there. */
export function lowestKey(part: IndexPart): IndexKey {
  return part === 'key' ? '' : MIN_INT64;
}

/** Parses a key stored as text. */
export function parseKey(part: IndexPart, text: string): IndexKey {
  return part === 'key' ? text : BigInt(text);
}

/** Above every key: SQLite sorts blobs after numbers and text. */
const ABOVE_ALL = Buffer.alloc(0);

/** Entries of a block in the order of their keys; 16 bytes each if keys are ids. */
export interface Entries {
  readonly keys: ArrayLike<IndexKey>;
  readonly rows: Float64Array;
}

/** Parses the entries of a block from the digested text. */
export function parseEntries(part: IndexPart, text: string): Entries {
  if (part === 'key') {
    const entries = text === '' ? [] : (JSON.parse(text) as readonly (readonly [string, number])[]);
    return { keys: entries.map(([key]) => key), rows: Float64Array.from(entries, ([, row]) => row) };
  }
  const words = text === '' ? [] : text.split(' ');
  const keys = new BigInt64Array(words.length / 2);
  const rows = new Float64Array(words.length / 2);
  for (let at = 0; at < rows.length; at++) {
    keys[at] = BigInt(words[at * 2] ?? 0);
    rows[at] = Number(words[at * 2 + 1]);
  }
  return { keys, rows };
}

/** Makes the function that reads the entries of a block from key `first` up to but not including `next` (null: to the end). */
export function prepareIndexBlock(
  db: Db,
  part: IndexPart,
): (model: string, first: IndexKey, next: IndexKey | null) => { text: string; digest: string } {
  const column = KEY_COLUMN[part];
  const read = db
    .prepare<[string, IndexKey, IndexKey | Buffer], [text: string | null, models: string]>(
      `SELECT ${ENTRIES[part]}, ${MODELS} FROM remap INDEXED BY remap_${part}
       WHERE model = ? AND ${column} >= ? AND ${column} < ?`,
    )
    .raw();
  return (model, first, next) => {
    const [text, models = ''] = read.get(model, first, next ?? ABOVE_ALL) ?? [];
    return { text: text ?? '', digest: blockDigest(`${models} ${text ?? ''}`) };
  };
}

/** Digests an index of the current remap; yields `null` regularly. All entries of a key are in one block. */
export function* digestIndex(db: Db, part: IndexPart): Generator<null, IndexBlocks> {
  const column = KEY_COLUMN[part];
  const from = `FROM remap INDEXED BY remap_${part} WHERE model`;
  const nextModel = db.prepare<[string], string | null>(`SELECT min(model) ${from} > ?`).pluck();
  const nextFirst = db
    .prepare<[object], IndexKey | null>(
      `SELECT min(${column}) ${from} = @model AND ${column} >
         (SELECT ${column} ${from} = @model AND ${column} >= @first ORDER BY ${column} LIMIT 1 OFFSET ${ENTRIES_PER_BLOCK - 1})`,
    )
    .pluck();
  // A damaged index can lead back to where the search began. This is a separate statement, because SQLite would read the
  // rest of the index for a condition on the result of min().
  const isAfter = db.prepare<[IndexKey, IndexKey], bigint>('SELECT ? > ?').pluck();
  const later = <Key extends IndexKey>(next: Key | null | undefined, last: Key): Key | null =>
    next != null && isAfter.get(next, last) === 1n ? next : null;
  const readBlock = prepareIndexBlock(db, part);
  const withoutKey = db
    .prepare<[string], string>(
      `SELECT count(*) || ' ' || ifnull(sum(rowid), 0) || ' ' || ${MODELS} ${from} = ? AND ${column} IS NULL`,
    )
    .pluck();
  const found: [string, [string, string][], string][] = [];
  let read = 0;
  for (let model = nextModel.get('') ?? null; model !== null; model = later(nextModel.get(model), model)) {
    const blocks: [string, string][] = [];
    for (let first: IndexKey | null = lowestKey(part); first !== null; ) {
      const next: IndexKey | null = later(nextFirst.get({ model, first }), first);
      blocks.push([String(first), readBlock(model, first, next).digest]);
      first = next;
      read += 1;
      if (read % BLOCKS_PER_STEP === 0) yield null;
    }
    found.push([model, blocks, withoutKey.get(model) ?? '']);
  }
  return found;
}

const TABLE_ROW = {
  company: `json_array(region, v3_company_id, v4_company_id, matched_by, shared_keys, agreeing_keys, v3_keys, v4_keys, note)`,
  decision: `json_array(line, model, path, region, v3_company_id, v3_svc_id, v4_svc_id, note, until, outcome, why)`,
  drift: 'json_array(model, region, v3_company_id, v4_company_id, platform_id, v3_svc_id, v4_svc_id, fields)',
  drift_scope: 'json_array(model, region, v3_company_id, pairs, compared)',
} as const;

/** The digest of a table that a remap writes in addition to its rows. */
export function digestTable(db: Db, part: TablePart): string {
  const order = part === 'drift_scope' ? 'model, region, v3_company_id' : 'rowid';
  const rows = db.prepare<[], string>(`SELECT ${TABLE_ROW[part]} FROM ${part} ORDER BY ${order}`).pluck();
  const hash = createHash('sha256');
  for (const row of rows.iterate()) hash.update(row).update('\n');
  return hash.digest('hex');
}

/** Sums that change with any value that reports count. A full check is not needed: a remap verifies all checksums. */
const EXPORTED_SUMS = `
  SELECT count(*) AS n, sum(stream_id) AS streams, sum(svc_id % 1000003) AS ids, sum(company_id % 1000003) AS companies,
    sum(deleted) AS deleted, sum(length(children)) AS children, count(latest_ms) AS dated, sum(latest_ms % 1000003) AS dates
  FROM record WHERE id BETWEEN @from AND @to`;
/** Sums over the index that is used to find single records. */
const INDEX_SUMS = `
  SELECT count(*) || ' ' || sum(stream_id) || ' ' || sum(svc_id % 1000003) || ' ' || sum(id % 1000003)
  FROM record INDEXED BY ${RECORD_KEY}`;

/** The counts of rejected objects that reports use. */
const REJECTED_COUNTS = `
  SELECT json_group_array(json_array(generation, region, model, CAST(company_id AS TEXT), n)) FROM (
    SELECT generation, region, model, company_id, count(*) AS n FROM rejected
    GROUP BY generation, region, model, company_id ORDER BY generation, region, model, company_id)`;

type Sums = Readonly<Record<string, bigint | number | null>>;

/** The digest of the counts of exported records that reports use. */
export function digestExported(db: Db): string {
  const sums = new Map<string, bigint>();
  for (const { rows } of readSlices<Sums>(db, 'record', EXPORTED_SUMS, {})) {
    for (const [name, sum] of rows.flatMap((row) => Object.entries(row))) {
      // a damaged value may not be an integer
      sums.set(name, (sums.get(name) ?? 0n) + BigInt(Math.trunc(Number(sum ?? 0))));
    }
  }
  const ofIndex = db.prepare<[], string | null>(INDEX_SUMS).pluck().get() ?? '';
  const rejected = db.prepare<[], string>(REJECTED_COUNTS).pluck().get() ?? '';
  return sha256Of(JSON.stringify([[...sums].map(([name, sum]) => `${name} ${sum}`), ofIndex, rejected]));
}
