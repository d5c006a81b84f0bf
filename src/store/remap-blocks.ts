import { createHash } from 'node:crypto';
import { type Generation, MIN_INT64 } from '../domain.js';
import type { Status } from '../reasons.js';
import { sha256Of } from '../runtime/sha256.js';
import { ROWS_PER_BLOCK } from './remap-rows.js';
import type { Db } from './sqlite.js';

const ENTRIES_PER_BLOCK = 512;
/** Blocks read before yielding to the caller, which can then check for signals. */
const BLOCKS_PER_STEP = 8;

/** An index of the remap, named by its suffix. */
export const INDEX_PARTS = ['v3', 'v4', 'key'] as const;
export type IndexPart = (typeof INDEX_PARTS)[number];
/** A table that a remap writes in addition to its rows. */
export const TABLE_PARTS = [
  'company',
  'decision',
  'drift',
  'drift_scope',
  'exported_count',
  'remap_group',
  'remap_day',
] as const;
export type TablePart = (typeof TABLE_PARTS)[number];

/** Hexadecimal digits of a block's digest: 128 bits of its SHA-256. */
export const DIGEST_LENGTH = 32;

const blockDigest = (text: string | Uint8Array) => sha256Of(text).slice(0, DIGEST_LENGTH);

/** An id of a row: a bigint only beyond 2^53, because other numbers need no object. */
export type RowId = number | bigint;

export function rowIdOf(id: bigint): RowId {
  const number = Number(id);
  return Number.isSafeInteger(number) ? number : id;
}

/** Numbers of a row in a digest: its group, parent and ids. */
const NUMBERS = 4;
/** In their place, of an id that is null, and of one beyond 2^53, whose digits follow as text. Ids are integers. */
const NONE = 0.5;
const AS_TEXT = 0.25;

/**
 * Digests the rows of a block, and the groups that they name. `content` differs from `whole` only in that it leaves out when
 * V3 was read: two exports of the same data have the same `content`.
 */
export class BlockDigest {
  readonly #groupText: (group: number) => string;
  readonly #groups = new Set<number>();
  readonly #numbers = new Float64Array(NUMBERS * ROWS_PER_BLOCK);
  #length = 0;
  #text = '';

  /** `groupText`: what `renderGroup` returned for a group. */
  constructor(groupText: (group: number) => string) {
    this.#groupText = groupText;
  }

  add(
    group: number,
    parent: RowId | null,
    v3: RowId | null,
    v4: RowId | null,
    key: string | null,
    evidence: string | null,
  ): void {
    const at = this.#length;
    this.#length += NUMBERS;
    if (at === 0 || group !== this.#numbers[at - NUMBERS]) this.#groups.add(group);
    this.#numbers[at] = group;
    this.#numbers[at + 1] = this.#numberOf(parent);
    this.#numbers[at + 2] = this.#numberOf(v3);
    this.#numbers[at + 3] = this.#numberOf(v4);
    // with their lengths, so that no other values have the same text
    this.#text += key === null ? '-' : `${key.length} ${key}`;
    this.#text += evidence === null ? '-\n' : `${evidence.length} ${evidence}\n`;
  }

  /** Returns the digests, and begins the next block. */
  take(): RowsText {
    const numbers = new Uint8Array(this.#numbers.buffer, 0, 8 * this.#length);
    const text = this.#text + Array.from(this.#groups, this.#groupText).join('\n');
    const digest = (of: string) =>
      createHash('sha256').update(numbers).update(of).digest('hex').slice(0, DIGEST_LENGTH);
    const whole = digest(text);
    const untimed = text.replace(/"v3_read_until":"[^"]*"/g, '');
    const content = untimed === text ? whole : digest(untimed);
    this.#groups.clear();
    this.#length = 0;
    this.#text = '';
    return { whole, content };
  }

  #numberOf(id: RowId | null): number {
    if (id === null) return NONE;
    // -0 is 0
    if (typeof id === 'number') return id + 0;
    this.#text += `${id} `;
    return AS_TEXT;
  }
}

/** What a group says about its rows, as text. */
export function renderGroup(id: number, group: RemapGroup): string {
  const { model, path, region, v3CompanyId, v4CompanyId, status, reason, matchedBy, provisional, conflict } =
    group;
  const companies = [v3CompanyId, v4CompanyId].map((company) => (company === null ? null : String(company)));
  return JSON.stringify([
    ...[id, model, path, region, ...companies, status, reason, matchedBy],
    ...[provisional ? 1 : 0, conflict ? 1 : 0],
  ]);
}

/** What rows of the remap have in common. */
export interface RemapGroup {
  readonly model: string;
  /** '' for records, else the children's field. */
  readonly path: string;
  readonly region: string | null;
  readonly v3CompanyId: bigint | null;
  readonly v4CompanyId: bigint | null;
  readonly status: Status;
  readonly reason: string | null;
  readonly matchedBy: string | null;
  /** Whether a list of the pair was not read in full. */
  readonly provisional: boolean;
  /** Whether the unique ids of a pair are both set and differ. */
  readonly conflict: boolean;
}

const GROUP_COLUMNS = `id, model, path, region, CAST(v3_company_id AS TEXT), CAST(v4_company_id AS TEXT), status, reason,
  matched_by, provisional, unique_id_conflict`;

/** Makes the function that reads what a group says, as `renderGroup` renders it. */
function prepareGroupText(db: Db): (group: number) => string {
  const read = db
    .prepare<[number], readonly (string | bigint | null)[]>(
      `SELECT ${GROUP_COLUMNS} FROM remap_group WHERE id = ?`,
    )
    .raw();
  const known = new Map<number, string>();
  return (group) => {
    let text = known.get(group);
    if (text !== undefined) return text;
    const columns = read.get(group) ?? [];
    text = JSON.stringify(columns.map((value) => (typeof value === 'bigint' ? Number(value) : value)));
    known.set(group, text);
    return text;
  };
}

type RawRow = readonly [
  id: bigint,
  group: bigint,
  parent: bigint | null,
  v3: bigint | null,
  v4: bigint | null,
  key: string | null,
  evidence: string | null,
];

/** The groups of a block's rows, and its digests; '' instead of both if a row is missing, or is not what rows can be. */
export interface RowBlock extends RowsText {
  readonly groups: Uint32Array;
}

/** Makes the function that reads and digests the rows of a block; blocks are numbered from 0. */
export function prepareRowBlock(db: Db): (block: number) => RowBlock {
  const read = db
    .prepare<[number, number], RawRow>(`
      SELECT id, group_id, parent, v3_svc_id, v4_svc_id, platform_id, evidence
        FROM remap_row NOT INDEXED WHERE id BETWEEN ? AND ? ORDER BY id`)
    .raw();
  const digest = new BlockDigest(prepareGroupText(db));
  return (block) => {
    const first = block * ROWS_PER_BLOCK + 1;
    const found = read.all(first, first + ROWS_PER_BLOCK - 1);
    const isWhole = found.every((row, at) => row[0] === BigInt(first + at) && isRow(row));
    if (!isWhole) return { groups: new Uint32Array(0), whole: '', content: '' };
    for (const [, group, parent, v3, v4, key, evidence] of found)
      digest.add(Number(group), numberOf(parent), numberOf(v3), numberOf(v4), key, evidence);
    return { groups: Uint32Array.from(found, ([, group]) => Number(group)), ...digest.take() };
  };
}

const numberOf = (id: bigint | null) => (id === null ? null : rowIdOf(id));

/** In a damaged database, a value can have any type. */
function isRow([, group, parent, v3, v4, key, evidence]: RawRow): boolean {
  const isId = (value: unknown) => value === null || typeof value === 'bigint';
  const isText = (value: unknown) => value === null || typeof value === 'string';
  return typeof group === 'bigint' && isId(parent) && isId(v3) && isId(v4) && isText(key) && isText(evidence);
}

/** The digests of all blocks of rows, as texts; see `BlockDigest`. */
export interface RowsText {
  readonly whole: string;
  readonly content: string;
}

/** Digests all rows, block by block; yields `null` regularly. */
export function* digestRows(db: Db): Generator<null, RowsText> {
  const digest = prepareRowBlock(db);
  const [first, rows] = db
    .prepare<[], [bigint | null, bigint | null]>('SELECT min(id), max(id) FROM remap_row NOT INDEXED')
    .raw()
    .get() ?? [null, null];
  const count = Number(rows ?? 0n);
  const digests = new RowDigests();
  for (let block = 0; block * ROWS_PER_BLOCK < count; block++) {
    const found = digest(block);
    digests.add(found);
    // rows are missing, and in a damaged table the last id can be any
    if (found.groups.length < ROWS_PER_BLOCK && (block + 1) * ROWS_PER_BLOCK < count)
      return digests.finish(-1);
    if (block % BLOCKS_PER_STEP === 0) yield null;
  }
  // rows with an id below 1 are in no block, and damage to inner pages of the table can hide a parent from a search by its id
  const isWhole = (first === null || first > 0n) && db.prepare(LOST_PARENT).get() === undefined;
  return digests.finish(isWhole ? count : -1);
}

const LOST_PARENT = `
  SELECT 1 FROM remap_row AS r NOT INDEXED
    WHERE parent IS NOT NULL AND NOT EXISTS (SELECT 1 FROM remap_row AS p WHERE p.id = r.parent) LIMIT 1`;

/** Collects the digests of blocks. */
export class RowDigests {
  readonly #whole: string[] = [];
  readonly #content: string[] = [];

  add({ whole, content }: RowsText): void {
    this.#whole.push(whole);
    this.#content.push(content);
  }

  finish(rows: number): RowsText {
    const render = (digests: readonly string[]) => `${rows}\n${digests.join('')}`;
    return { whole: render(this.#whole), content: render(this.#content) };
  }
}

/**
 * The blocks of an index of ids: the first id of each, where the previous block ends, and its digest. `withoutId` holds the
 * count and sum of the entries without an id.
 */
export type IndexBlocks = readonly [
  blocks: readonly (readonly [first: string, digest: string])[],
  withoutId: string,
];

/** SQL that reads an index of the remap, up to a condition on its column. */
function fromIndex(part: IndexPart): string {
  const column = { v3: 'v3_svc_id', v4: 'v4_svc_id', key: 'platform_id' }[part];
  return `FROM remap_row INDEXED BY remap_${part} WHERE ${column}`;
}

/** SQL for the count and sum of an index's entries without an id or key. */
const countNulls = (part: IndexPart) =>
  `SELECT count(*) || ' ' || ifnull(sum(id), 0) ${fromIndex(part)} IS NULL`;

/** Above every id: SQLite sorts blobs after numbers. */
const ABOVE_ALL = Buffer.alloc(0);

/** Entries of a block of ids in their order, 16 bytes each. */
export interface Entries {
  readonly ids: BigInt64Array;
  readonly rows: Float64Array;
}

/** Parses the entries of a block of ids from the digested text. */
export function parseEntries(text: string): Entries {
  const words = text === '' ? [] : text.split(' ');
  const ids = new BigInt64Array(words.length / 2);
  const rows = new Float64Array(words.length / 2);
  for (let at = 0; at < rows.length; at++) {
    ids[at] = BigInt(words[at * 2] ?? 0);
    rows[at] = Number(words[at * 2 + 1]);
  }
  return { ids, rows };
}

/** Makes the function that reads the entries of a block from id `first` up to but not including `next` (null: to the end). */
export function prepareIndexBlock(
  db: Db,
  part: Generation,
): (first: bigint, next: bigint | null) => { text: string; digest: string } {
  const column = `${part}_svc_id`;
  const read = db
    .prepare<[bigint, bigint | Buffer], string | null>(
      `SELECT group_concat(${column} || ' ' || id, ' ') ${fromIndex(part)} >= ? AND ${column} < ?`,
    )
    .pluck();
  return (first, next) => {
    const text = read.get(first, next ?? ABOVE_ALL) ?? '';
    return { text, digest: blockDigest(text) };
  };
}

/** Digests an index of ids of the current remap; yields `null` regularly. All entries of an id are in one block. */
export function* digestIndex(db: Db, part: Generation): Generator<null, IndexBlocks> {
  const column = `${part}_svc_id`;
  const from = fromIndex(part);
  const nextFirst = db
    .prepare<[object], bigint | null>(
      `SELECT min(${column}) ${from} > (SELECT ${column} ${from} >= @first ORDER BY ${column} LIMIT 1 OFFSET ${ENTRIES_PER_BLOCK - 1})`,
    )
    .pluck();
  const readBlock = prepareIndexBlock(db, part);
  const blocks: [string, string][] = [];
  for (let first: bigint | null = MIN_INT64; first !== null; ) {
    const found: bigint | null = nextFirst.get({ first }) ?? null;
    // a damaged index can lead back to where the search began
    const next: bigint | null = typeof found === 'bigint' && found > first ? found : null;
    blocks.push([String(first), readBlock(first, next).digest]);
    first = next;
    if (blocks.length % BLOCKS_PER_STEP === 0) yield null;
  }
  return [blocks, db.prepare<[], string>(countNulls(part)).pluck().get() ?? ''];
}

/** Digests the index of keys of the current remap; yields `null` regularly. Any number of rows can have the same key. */
export function* digestKeys(db: Db): Generator<null, string> {
  const from = fromIndex('key');
  // both parts are in the order of the index, which holds the rows of a key by their ids
  const read = db
    .prepare<[object], readonly [entries: string, key: string | null]>(`
      SELECT json_group_array(json_array(platform_id, id)), max(platform_id) FROM (
        SELECT platform_id, id ${from} = @key AND id > @row UNION ALL SELECT platform_id, id ${from} > @key
        ORDER BY platform_id, id LIMIT ${ENTRIES_PER_BLOCK})`)
    .raw();
  // in SQL, because SQLite orders texts by their bytes
  const isAfter = db.prepare<(string | bigint)[], bigint>('SELECT (?, ?) > (?, ?)').pluck();
  const digests = [db.prepare<[], string>(countNulls('key')).pluck().get() ?? ''];
  for (let last = { key: '', row: 0n }; ; yield null) {
    const [entries = '[]', key = null] = read.get(last) ?? [];
    if (key === null) return digests.join('\n');
    digests.push(blockDigest(entries));
    const found = { key, row: BigInt(entries.slice(entries.lastIndexOf(',') + 1, -2)) };
    // a damaged index can lead back to where the search began
    if (isAfter.get(key, found.row, last.key, last.row) !== 1n) return '';
    last = found;
  }
}

const TABLE_ROW = {
  remap_group: `json_array(${GROUP_COLUMNS}, count, first_row, last_row, first_rows)`,
  remap_day: 'json_array(group_id, day, count, earliest_ms, latest_ms)',
  company: `json_array(region, v3_company_id, v4_company_id, matched_by, shared_keys, agreeing_keys, v3_keys, v4_keys, note)`,
  decision: `json_array(line, model, path, region, v3_company_id, v3_svc_id, v4_svc_id, note, until, outcome, why)`,
  drift: 'json_array(model, region, v3_company_id, v4_company_id, platform_id, v3_svc_id, v4_svc_id, fields)',
  drift_scope: 'json_array(model, region, v3_company_id, pairs, compared)',
  exported_count: 'json_array(generation, region, model, company_id, records, children, deleted, rejected)',
} as const;

/** The digest of a table that a remap writes in addition to its rows. */
export function digestTable(db: Db, part: TablePart): string {
  const order = part === 'drift_scope' ? 'model, region, v3_company_id' : 'rowid';
  const rows = db.prepare<[], string>(`SELECT ${TABLE_ROW[part]} FROM ${part} ORDER BY ${order}`).pluck();
  const hash = createHash('sha256');
  for (const row of rows.iterate()) hash.update(row).update('\n');
  return hash.digest('hex');
}
