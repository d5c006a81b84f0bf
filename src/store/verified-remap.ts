import { type Generation, MIN_INT64 } from '../domain.js';
import type { Status } from '../reasons.js';
import {
  DIGEST_LENGTH,
  type Entries,
  parseEntries,
  prepareIndexBlock,
  prepareRowBlock,
} from './remap-blocks.js';
import { assertDigests, damagedRemap, parseIndexBlocks, readBlocks } from './remap-digest.js';
import { ROWS_PER_BLOCK } from './remap-rows.js';
import type { Db } from './sqlite.js';

/** Narrows down which record an id refers to; null: any. */
export interface LookupPlace {
  /** '' for records, else the children's field, such as `line_items`. */
  readonly path: string;
  readonly region: string | null;
  /** A company of the generation of the id. */
  readonly companyId: bigint | null;
}

const SEVERAL_RECORDS = 'several_records';

/** Status, reason, V3 id, V4 id, region, V3 company, V4 company, path; SQLite returns integers as bigint. */
type Row = readonly [
  Status,
  string | null,
  bigint | null,
  bigint | null,
  string | null,
  bigint | null,
  bigint | null,
  string,
];

/** Looks up one id of a model. */
export type Lookup = (
  from: Generation,
  model: string,
  id: bigint,
  place: LookupPlace,
) => Omit<Answer, 'stale'>;

/**
 * Makes the look-up function. It throws `corrupt_database` if the remap was altered or damaged. Rows that disagree give
 * `ambiguous`.
 */
export function prepareLookup(db: Db): Lookup {
  const remap = openVerifiedRemap(db);
  const sql =
    'SELECT status, reason, v3_svc_id, v4_svc_id, region, v3_company_id, v4_company_id, path FROM remap_entry WHERE id = ?';
  const select = db.prepare<[bigint], Row>(sql).raw();
  const read = (at: bigint): Row => {
    const row = select.get(at);
    if (row === undefined) throw damagedRemap('rows');
    return row;
  };
  return (from, model, id, place) => {
    const rows = remap.find(from, model, id).map(read);
    return answerFrom(
      from === 'v3' ? { v3Id: id, v4Id: null } : { v3Id: null, v4Id: id },
      rows.filter((row) => isIn(place, from, row)),
    );
  };
}

function isIn({ path, region, companyId }: LookupPlace, from: Generation, row: Row): boolean {
  const [, , , , ofRegion, ofV3Company, ofV4Company, ofPath] = row;
  const ofCompany = from === 'v3' ? ofV3Company : ofV4Company;
  return (
    ofPath === path &&
    (region === null || ofRegion === region) &&
    (companyId === null || ofCompany === companyId)
  );
}

type Ids = Pick<Answer, 'v3Id' | 'v4Id'>;

/** `lookedUp`: the id that was looked up; the other one is null. */
function answerFrom(lookedUp: Ids, rows: readonly Row[]): ReturnType<Lookup> {
  const [first, ...others] = rows;
  if (first === undefined) return { ...lookedUp, status: 'unknown', reason: null, ...NOWHERE };
  const [status, reason, v3Id, v4Id, region, v3CompanyId, v4CompanyId] = first;
  const agree = others.every((row) => row.slice(0, 4).every((value, at) => value === first[at]));
  if (!agree) return { ...lookedUp, status: 'ambiguous', reason: SEVERAL_RECORDS, ...NOWHERE };
  if (others.length > 0) return { v3Id, v4Id, status, reason, ...NOWHERE };
  return { v3Id, v4Id, status, reason, region, v3CompanyId, v4CompanyId };
}

const NOWHERE = { region: null, v3CompanyId: null, v4CompanyId: null };

/** The result of looking up an id; the other id is null if there is none or it is ambiguous. */
export interface Answer {
  readonly v3Id: bigint | null;
  readonly v4Id: bigint | null;
  /** `unknown`: the exports do not hold this id. */
  readonly status: Status | 'unknown';
  /** `several_records`: rows of several regions, companies or parents have this id and disagree. */
  readonly reason: string | null;
  readonly region: string | null;
  readonly v3CompanyId: bigint | null;
  readonly v4CompanyId: bigint | null;
  /** Whether the export has changed since this remap was built. */
  readonly stale: boolean;
}

/** Finds rows of the remap by an id. Each block is verified once, when it is first read; see `remap-digest.ts`. */
export interface VerifiedRemap {
  /**
   * The row ids of all rows of a model with this id, in the table's order; the rows are verified.
   *
   * @throws SvcError `corrupt_database`
   */
  find(by: Generation, model: string, id: bigint): readonly bigint[];
  /**
   * Ranges of row ids, in ascending order, in which all rows of a model are; the rows are verified. Call it, and read the rows,
   * in one transaction.
   *
   * @throws SvcError `corrupt_database`
   */
  rangesOf(model: string): Iterable<readonly [from: bigint, to: bigint]>;
  /**
   * Verifies a row by its id, however it was found, and the row of the record that holds it: a child shows its key.
   *
   * @throws SvcError `corrupt_database`
   */
  verifyRow(row: bigint): void;
}

/**
 * Opens the remap for look-ups. Outside a transaction, another process may replace the remap between calls of `find`,
 * which then uses the new one: call `find` and read the rows it returns in one transaction.
 */
export function openVerifiedRemap(db: Db): VerifiedRemap {
  if (db.inTransaction) return createBlocks(db);
  // changes when another connection commits
  const readVersion = db.prepare<[], bigint>('PRAGMA data_version').pluck();
  let version: bigint | undefined;
  let blocks: VerifiedRemap | undefined;
  const current = (): VerifiedRemap => {
    const now = readVersion.get();
    if (blocks === undefined || now !== version) blocks = createBlocks(db);
    version = now;
    return blocks;
  };
  return {
    find: (by, model, id) => current().find(by, model, id),
    rangesOf: (model) => current().rangesOf(model),
    verifyRow: (row) => current().verifyRow(row),
  };
}

function createBlocks(db: Db): VerifiedRemap {
  const verifyBlock = prepareVerifiedBlocks(db);
  const verified = new Map<number, Uint32Array>();
  const readBlock = (block: number): Uint32Array => {
    const groups = verified.get(block) ?? verifyBlock(block);
    verified.set(block, groups);
    return groups;
  };
  const modelOf = prepareModelOf(db);
  const readRange = db
    .prepare<[string], [bigint | null, bigint | null]>(
      'SELECT min(first_row), max(last_row) FROM remap_group WHERE model = ?',
    )
    .raw();
  const readParent = db.prepare<[bigint], bigint | null>('SELECT parent FROM remap_row WHERE id = ?').pluck();
  const indexes = new Map<Generation, FindRows>();
  const rowsOf = (by: Generation, id: bigint): readonly number[] => {
    const find = indexes.get(by) ?? openIndex(db, by);
    indexes.set(by, find);
    return find(id);
  };
  return {
    find: (by, model, id) =>
      rowsOf(by, id)
        .filter((row) => modelOf(readBlock(blockOf(row))[(row - 1) % ROWS_PER_BLOCK] ?? 0) === model)
        .map(BigInt),
    *rangesOf(model) {
      assertDigests(db, ['remap_group']);
      const [first, last] = readRange.get(model) ?? [null, null];
      if (first === null || last === null) return;
      for (let block = blockOf(Number(first)); block <= blockOf(Number(last)); block++) {
        verifyBlock(block);
        yield [BigInt(block * ROWS_PER_BLOCK + 1), BigInt((block + 1) * ROWS_PER_BLOCK)];
      }
    },
    verifyRow: (row) => {
      readBlock(blockOf(Number(row)));
      const parent = readParent.get(row) ?? null;
      if (parent !== null) readBlock(blockOf(Number(parent)));
    },
  };
}

function blockOf(row: number): number {
  return Math.floor((row - 1) / ROWS_PER_BLOCK);
}

/** Makes the function that verifies a block and returns the group of each of its rows. */
function prepareVerifiedBlocks(db: Db): (block: number) => Uint32Array {
  const text = readBlocks(db, 'rows') ?? '';
  const digests = text.slice(text.indexOf('\n') + 1);
  const read = prepareRowBlock(db);
  return (block) => {
    const { groups, whole } = read(block);
    if (whole === '' || whole !== digests.slice(block * DIGEST_LENGTH, (block + 1) * DIGEST_LENGTH))
      throw damagedRemap('rows');
    return groups;
  };
}

/** Makes the function that reads the model of a group; the digest of a block covers the groups that its rows name. */
function prepareModelOf(db: Db): (group: number) => string | undefined {
  const read = db.prepare<[number], string>('SELECT model FROM remap_group WHERE id = ?').pluck();
  const known = new Map<number, string | undefined>();
  return (group) => {
    if (!known.has(group)) known.set(group, read.get(group));
    return known.get(group);
  };
}

/** Finds the ids of the rows of an id, in ascending order. */
type FindRows = (id: bigint) => readonly number[];

/** Opens an index, of which each block is verified when it is first read. */
function openIndex(db: Db, by: Generation): FindRows {
  const text = readBlocks(db, by);
  const blocks = text === null ? [] : parseIndexBlocks(text)[0];
  const firsts = BigInt64Array.from(blocks, ([first]) => BigInt(first));
  const verified: (Entries | undefined)[] = [];
  const readBlock = prepareIndexBlock(db, by);
  const verifyBlock = (at: number): Entries => {
    const found = readBlock(firsts[at] ?? MIN_INT64, firsts[at + 1] ?? null);
    if (found.digest !== blocks[at]?.[1]) throw damagedRemap(by);
    return parseEntries(found.text);
  };
  return (id) => {
    if (firsts.length === 0) return [];
    const at = countBelow(firsts, id, true) - 1;
    const entries = verified[at] ?? verifyBlock(at);
    verified[at] = entries;
    const [from, to] = [countBelow(entries.ids, id, false), countBelow(entries.ids, id, true)];
    return [...entries.rows.subarray(from, to)].sort((a, b) => a - b);
  };
}

/** How many of the sorted ids are less than `id` or, with `orEqual`, equal to it. */
function countBelow(ids: BigInt64Array, id: bigint, orEqual: boolean): number {
  let [low, high] = [0, ids.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const one = ids[middle] ?? 0n;
    if (one < id || (orEqual && one === id)) low = middle + 1;
    else high = middle;
  }
  return low;
}
