import { crc32 } from 'node:zlib';
import type { ParsedRecord } from '../domain.js';
import { listNumber } from '../json/record-columns.js';
import { checksumOfValues, damaged } from './checksum.js';
import type { Db } from './sqlite.js';

/** Lists of names that are stored; records with others have no digests, and are compared by their bodies. */
const MAX_LISTS = 4096;

/**
 * Makes the function that returns the column `members` of a record. Its last four bytes are the checksum of the others and of
 * the record. The list of names is stored when it first occurs.
 */
export function prepareMemberDigests(
  db: Db,
): (members: ParsedRecord['members'], checksum: number) => Uint8Array | null {
  const count = db.prepare<[], bigint>('SELECT count(*) FROM member_list').pluck();
  const insert = db.prepare('INSERT OR IGNORE INTO member_list(id, names, checksum) VALUES (?, ?, ?)');
  const find = db.prepare<[bigint], string>('SELECT names FROM member_list WHERE id = ?').pluck();
  const isStored = new Map<string, boolean>();
  const store = (names: string, number: number): boolean => {
    const id = BigInt(number);
    if (Number(count.get() ?? 0n) < MAX_LISTS) insert.run(id, names, checksumOfValues([id, names]));
    return find.get(id) === names;
  };
  return (members, checksum) => {
    if (members === null) return null;
    const { names, words } = members;
    let isKnown = isStored.get(names);
    if (isKnown === undefined) {
      isKnown = store(names, listNumber(words, 0));
      if (isStored.size < MAX_LISTS) isStored.set(names, isKnown);
    }
    if (!isKnown) return null;
    const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
    words[words.length - 1] = crc32(bytes.subarray(0, -4), checksum);
    return bytes;
  };
}

/** Whether the column `members` of a record with this checksum is what was stored. */
export function areIntactMembers(bytes: Uint8Array, checksum: number): boolean {
  const last = bytes.length - 4;
  if (last < 0 || bytes.length % 4 !== 0) return false;
  const [a = 0, b = 0, c = 0, d = 0] = [bytes[last], bytes[last + 1], bytes[last + 2], bytes[last + 3]];
  const stored = (a | (b << 8) | (c << 16) | (d << 24)) >>> 0;
  return stored === crc32(bytes.subarray(0, last), checksum);
}

/**
 * Makes the function that reads a list of names; null if it is not stored.
 *
 * @throws SvcError `corrupt_database`
 */
export function prepareReadMemberList(db: Db): (number: number) => readonly string[] | null {
  const find = db.prepare<[bigint], { id: bigint; names: string; checksum: bigint }>(
    'SELECT id, names, checksum FROM member_list WHERE id = ?',
  );
  return (number) => {
    const found = find.get(BigInt(number));
    if (found === undefined) return null;
    const { id, names, checksum } = found;
    if (Number(checksum) !== checksumOfValues([id, names])) throw damaged('A stored list of member names');
    return JSON.parse(names);
  };
}
