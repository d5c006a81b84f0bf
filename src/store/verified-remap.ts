import type { Db } from './open.js';
import {
  DIGEST_LENGTH,
  type Entries,
  type IndexKey,
  type IndexPart,
  lowestKey,
  parseEntries,
  parseKey,
  prepareIndexBlock,
  prepareRowBlock,
} from './remap-blocks.js';
import { damagedRemap, parseIndexBlocks, readBlocks } from './remap-digest.js';
import { ROWS_PER_BLOCK } from './slices.js';

/** Finds rows of the remap by a key. Each block is verified once, when it is first read; see `remap-digest.ts`. */
export interface VerifiedRemap {
  /**
   * The rowids of all rows of a model with this key, in the table's order; the rows are verified.
   *
   * @throws SvcError `corrupt_database`
   */
  find(part: IndexPart, model: string, key: IndexKey): readonly bigint[];
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
  return {
    find: (part, model, key) => {
      const now = readVersion.get();
      if (blocks === undefined || now !== version) blocks = createBlocks(db);
      version = now;
      return blocks.find(part, model, key);
    },
  };
}

function createBlocks(db: Db): VerifiedRemap {
  const verifyRow = prepareVerifyRow(db);
  const indexes = new Map<IndexPart, FindEntries>();
  return {
    find: (part, model, key) => {
      const find = indexes.get(part) ?? prepareFindEntries(db, part);
      indexes.set(part, find);
      const rows = find(model, key);
      for (const row of rows) verifyRow(row);
      return rows.map(BigInt);
    },
  };
}

function prepareVerifyRow(db: Db): (row: number) => void {
  const text = readBlocks(db, 'rows') ?? '';
  const digests = text.slice(text.indexOf('\n') + 1);
  const digestBlock = prepareRowBlock(db);
  const verified = new Set<number>();
  return (row) => {
    const block = Math.floor((row - 1) / ROWS_PER_BLOCK);
    if (verified.has(block)) return;
    const expected = digests.slice(block * DIGEST_LENGTH, (block + 1) * DIGEST_LENGTH);
    if (digestBlock(block) !== expected) throw damagedRemap('rows');
    verified.add(block);
  };
}

type FindEntries = (model: string, key: IndexKey) => readonly number[];

/** The blocks of one model: the first key, the digest, and the entries (once verified) of each. */
interface ModelBlocks {
  readonly firsts: readonly IndexKey[];
  readonly digests: readonly string[];
  readonly entries: (Entries | undefined)[];
}

function prepareFindEntries(db: Db, part: IndexPart): FindEntries {
  const byModel = new Map(
    parseIndexBlocks(readBlocks(db, part) ?? '[]').map(([model, blocks]): [string, ModelBlocks] => {
      const firsts = blocks.map(([first]) => parseKey(part, first));
      return [model, { firsts, digests: blocks.map(([, digest]) => digest), entries: [] }];
    }),
  );
  const readBlock = prepareIndexBlock(db, part);
  const verifyBlock = (model: string, { firsts, digests }: ModelBlocks, at: number): Entries => {
    const { text, digest } = readBlock(model, firsts[at] ?? lowestKey(part), firsts[at + 1] ?? null);
    if (digest !== digests[at]) throw damagedRemap(part);
    return parseEntries(part, text);
  };
  return (model, key) => {
    const blocks = byModel.get(model);
    if (blocks === undefined) return [];
    const at = countBelow(blocks.firsts, key, true) - 1;
    const entries = blocks.entries[at] ?? verifyBlock(model, blocks, at);
    blocks.entries[at] = entries;
    const from = countBelow(entries.keys, key, false);
    const to = countBelow(entries.keys, key, true);
    return [...entries.rows.subarray(from, to)].sort((a, b) => a - b);
  };
}

/** Compares keys like SQLite: numbers by value, texts by their UTF-8 bytes. */
function compareKeys(a: IndexKey, b: IndexKey): number {
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : a > b ? 1 : 0;
}

/** How many of the sorted keys are less than `key` or, with `orEqual`, equal to it. */
function countBelow(keys: ArrayLike<IndexKey>, key: IndexKey, orEqual: boolean): number {
  let [low, high] = [0, keys.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = compareKeys(keys[middle] ?? key, key);
    if (order < 0 || (orEqual && order === 0)) low = middle + 1;
    else high = middle;
  }
  return low;
}
