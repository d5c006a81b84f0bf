import { brotliCompressSync, brotliDecompressSync, constants, crc32 } from 'node:zlib';
import { checksumOf, damaged, isIntact } from './checksum.js';
import type { Db } from './sqlite.js';

/**
 * Payloads, the records as received, are stored compressed in blocks. `record.payload_block` names the block of a record;
 * it is null if none is. A block holds the ids of its records beside their bytes. It keeps the bytes of records that were
 * replaced or deleted until `dropStalePayloads` rewrites it.
 */

/** A block ends with the record that reaches one of these: fewer records compress worse, more make one record slow to read. */
const BLOCK_RECORDS = 64;
const BLOCK_BYTES = 128 * 1024;
/** Compressed, two blocks should fill a page of the file (16 KiB): what a single one leaves of it is lost. */
const STORED_BYTES = 7_600;

/**
 * Higher qualities take longer than writing the bytes that they save. The window is as long as a block: with the usual one
 * of 4 MiB, most of the time goes to allocating it.
 */
const FAST = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_LGWIN]: 18 },
};

/** The payloads of some records. */
interface Block {
  readonly bytes: Buffer;
  /** Where in `bytes` the payload of a record begins and ends, by record id. */
  readonly places: ReadonlyMap<number, readonly [from: number, to: number]>;
}

/**
 * Makes the function that compresses a block: a line of JSON, which lists the ids of its records and the lengths of their
 * payloads in turn, and the payloads.
 */
function prepareCompress(): (payloads: ReadonlyMap<number, Uint8Array>) => Buffer {
  // used again, because allocating it takes as long as compressing
  let whole = Buffer.allocUnsafe(2 * BLOCK_BYTES);
  return (payloads) => {
    const lengths = Array.from(payloads, ([recordId, { length }]) => [recordId, length]);
    const head = JSON.stringify(lengths.flat());
    const size = lengths.reduce((sum, [, length = 0]) => sum + length, head.length + 1);
    if (size > whole.length) whole = Buffer.allocUnsafe(size);
    let to = whole.write(`${head}\n`, 'latin1');
    for (const payload of payloads.values()) {
      whole.set(payload, to);
      to += payload.length;
    }
    return brotliCompressSync(whole.subarray(0, size), FAST);
  };
}

/** Output is collected in pieces of this size, by default of 16 KiB. */
const WHOLE = { chunkSize: BLOCK_BYTES };

function decompress(content: Uint8Array): Block {
  const bytes = brotliDecompressSync(content, WHOLE);
  const headEnd = bytes.indexOf('\n');
  const head: readonly number[] = JSON.parse(bytes.toString('latin1', 0, headEnd));
  const places = new Map<number, readonly [number, number]>();
  let from = headEnd + 1;
  for (let at = 0; at < head.length; at += 2) {
    const to = from + (head[at + 1] ?? 0);
    places.set(head[at] ?? 0, [from, to]);
    from = to;
  }
  return { bytes, places };
}

interface StoredBlock {
  readonly content: unknown;
  readonly checksum: unknown;
}

/**
 * Makes the function that reads a block.
 *
 * @throws SvcError `corrupt_database`
 */
function prepareReadBlock(db: Db): (id: number) => Block {
  const read = db
    .prepare<[number], StoredBlock>('SELECT content, checksum FROM payload_block WHERE id = ?')
    .safeIntegers(false);
  return (id) => {
    const stored = read.get(id);
    // in a damaged database, a value can have any type
    if (!(stored?.content instanceof Uint8Array) || crc32(stored.content) !== stored.checksum) {
      throw damaged('A stored payload');
    }
    return decompress(stored.content);
  };
}

/** Decompressed blocks that are kept for the next reads hold at most this many bytes, beside the last one. */
const CACHE_BYTES = 2 * 1024 * 1024;

/** Makes the function that reads blocks and keeps the last few. */
function prepareCachedBlocks(db: Db): (id: number) => Block {
  const readBlock = prepareReadBlock(db);
  const cached = new Map<number, Block>();
  let held = 0;
  return (id) => {
    const known = cached.get(id);
    const block = known ?? readBlock(id);
    if (known === undefined) {
      held += block.bytes.length;
      for (const [oldest, old] of cached) {
        if (held <= CACHE_BYTES) break;
        cached.delete(oldest);
        held -= old.bytes.length;
      }
    }
    // the first key of the map is the one that was not read for the longest time
    cached.delete(id);
    cached.set(id, block);
    return block;
  };
}

/**
 * Makes the function that reads the payload of a stored record, null if none is stored. It is fast for records in the
 * order of their ids, and otherwise decompresses a block for each.
 *
 * @throws SvcError `corrupt_database`, from the returned function
 */
export function prepareReadPayload(db: Db): (recordId: bigint | number) => string | null {
  const readBlock = prepareCachedBlocks(db);
  const find = db
    .prepare<[bigint | number], number | null>('SELECT payload_block FROM record WHERE id = ?')
    .pluck()
    .safeIntegers(false);
  return (recordId) => {
    const id = find.get(recordId);
    if (id === undefined) throw damaged('A stored record');
    if (id === null) return null;
    const block = readBlock(id);
    return block.bytes.toString('utf8', ...placeOf(block, recordId));
  };
}

function placeOf({ places }: Block, recordId: bigint | number): readonly [from: number, to: number] {
  const place = places.get(Number(recordId));
  if (place === undefined) throw damaged('A stored payload');
  return place;
}

/** Saves the payloads of pages. Use it inside the page's transaction. */
export interface PayloadWriter {
  /** Begins a page: the block for each of its payloads, null where none are stored. */
  readonly begin: (payloads: readonly Uint8Array[]) => readonly (number | null)[];
  /** Adds a payload to the block that `begin` chose for it. */
  readonly add: (block: number | null, recordId: number, payload: Uint8Array) => void;
  /** Whether a stored record has this payload; always true where none are stored. */
  readonly isSame: (block: number | null, recordId: number, payload: Uint8Array) => boolean;
  /** Notes that a payload of the block was replaced or deleted. */
  readonly release: (block: number | null) => void;
  /** Writes the blocks of the page. */
  readonly end: () => void;
}

export function preparePayloadWriter(db: Db, payload: 'full' | 'ids'): PayloadWriter {
  const insert = db.prepare('INSERT INTO payload_block(id, content, checksum) VALUES (?, ?, ?)');
  const lastId = db
    .prepare<[], number | null>('SELECT max(id) FROM payload_block')
    .pluck()
    .safeIntegers(false);
  const stale = db.prepare('INSERT OR IGNORE INTO stale_block(id) VALUES (?)');
  const release = (block: number | null) => void (block !== null && stale.run(block));
  if (payload === 'ids') {
    const begin = (payloads: readonly Uint8Array[]) => payloads.map(() => null);
    return { begin, add: () => {}, isSame: () => true, release, end: () => {} };
  }
  const readBlock = prepareCachedBlocks(db);
  const compress = prepareCompress();
  /** The blocks of the current page. */
  const open = new Map<number, Map<number, Uint8Array>>();
  // ids of deleted blocks are not used again, because the blocks may be cached
  let last = 0;
  let blockBytes = BLOCK_BYTES;
  return {
    begin: (payloads) => {
      last = Math.max(last, lastId.get() ?? 0);
      const [blocks, next] = divide(payloads, last + 1, blockBytes);
      last = next;
      return blocks;
    },
    add: (block, recordId, payload) => {
      if (block === null) return;
      const payloads = open.get(block);
      if (payloads === undefined) open.set(block, new Map([[recordId, payload]]));
      else payloads.set(recordId, payload);
    },
    isSame: (id, recordId, payload) => {
      const added = open.get(id ?? 0)?.get(recordId);
      if (added !== undefined) return Buffer.compare(added, payload) === 0;
      if (id === null) return false;
      const block = readBlock(id);
      const [from, to] = placeOf(block, recordId);
      return to - from === payload.length && block.bytes.compare(payload, 0, payload.length, from, to) === 0;
    },
    release,
    end: () => {
      let [received, stored] = [0, 0];
      for (const [id, payloads] of open) {
        const content = compress(payloads);
        insert.run(id, content, crc32(content));
        stored += content.length;
        for (const { length } of payloads.values()) received += length;
      }
      open.clear();
      // the payloads of the next page will compress as well as these
      if (stored > 0) blockBytes = Math.min(BLOCK_BYTES, (STORED_BYTES * received) / stored);
    },
  };
}

/** The block of each payload, numbered from `first` on, and the last one. */
function divide(
  payloads: readonly Uint8Array[],
  first: number,
  blockBytes: number,
): [blocks: number[], last: number] {
  let [block, records, bytes] = [first, 0, 0];
  const blocks = payloads.map(({ length }) => {
    if (records === BLOCK_RECORDS || (records > 0 && bytes + length > blockBytes))
      [block, records, bytes] = [block + 1, 0, 0];
    records += 1;
    bytes += length;
    return block;
  });
  return [blocks, block];
}

/** Blocks that are rewritten in one transaction, which takes some tens of ms. */
const STALE_BLOCKS = 100;

/**
 * Removes the payloads of replaced and deleted records from the next blocks that hold any. Call it inside a transaction.
 *
 * @returns whether more blocks remain
 * @throws SvcError `corrupt_database`
 */
export function dropStalePayloads(db: Db): boolean {
  const ids = db
    .prepare<[number], number>('SELECT id FROM stale_block ORDER BY id LIMIT ?')
    .pluck()
    .safeIntegers(false)
    .all(STALE_BLOCKS);
  const readBlock = prepareReadBlock(db);
  const compress = prepareCompress();
  const holds = db.prepare<[number, number], 1>('SELECT 1 FROM record WHERE id = ? AND payload_block = ?');
  const save = db.prepare('UPDATE payload_block SET content = ?, checksum = ? WHERE id = ?');
  const drop = db.prepare('DELETE FROM payload_block WHERE id = ?');
  for (const id of ids) {
    const { bytes, places } = readBlock(id);
    const kept = [...places].filter(([recordId]) => holds.get(recordId, id) !== undefined);
    if (kept.length === 0) drop.run(id);
    else if (kept.length < places.size) {
      const content = compress(
        new Map(kept.map(([recordId, place]) => [recordId, bytes.subarray(...place)])),
      );
      save.run(content, crc32(content), id);
    }
  }
  db.prepare('DELETE FROM stale_block WHERE id <= ?').run(ids.at(-1) ?? 0);
  return ids.length === STALE_BLOCKS;
}

/** The number of records whose payload is stored. */
export function countPayloads(db: Db): number {
  return Number(db.prepare('SELECT count(payload_block) FROM record NOT INDEXED').pluck().get());
}

/** Deletes all payloads. The checksum of a damaged record stays wrong. */
export function deletePayloads(db: Db): void {
  const checksum = checksumOf('record', 'payload_block');
  db.exec(`
    UPDATE record SET payload_block = NULL, checksum = iif(${isIntact('record')}, ${checksum}, checksum)
      WHERE payload_block IS NOT NULL;
    DELETE FROM payload_block;
    DELETE FROM stale_block`);
}
