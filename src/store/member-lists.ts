import type { ParsedRecord } from '../domain.js';
import { listNumber } from '../json/record-columns.js';
import { checksumOfValues, damaged } from './checksum.js';
import type { Db } from './sqlite.js';

/** Lists of names that are stored; records with others have no digests. */
const MAX_LISTS = 16_384;

/**
 * Makes the function that begins a page. It returns the function that returns the column `members` of a record. The list of
 * names is stored when it first occurs.
 */
export function prepareMemberDigests(db: Db): () => (members: ParsedRecord['members']) => Uint8Array | null {
  const count = db.prepare<[], bigint>('SELECT count(*) FROM member_list').pluck();
  const insert = db.prepare('INSERT INTO member_list(id, names, checksum) VALUES (?, ?, ?)');
  const find = db.prepare<[bigint], string>('SELECT names FROM member_list WHERE id = ?').pluck();
  let lists: number | null = null;
  const store = (names: string, number: number): boolean => {
    const id = BigInt(number);
    const known = find.get(id);
    lists ??= Number(count.get() ?? 0n);
    if (known !== undefined || lists === MAX_LISTS) return known === names;
    insert.run(id, names, checksumOfValues([id, names]));
    lists += 1;
    return true;
  };
  return () => {
    // of this page only: the transaction of an earlier one may have been rolled back
    const isStored = new Map<string, boolean>();
    return (members) => {
      if (members === null) return null;
      const { names, words } = members;
      let isKnown = isStored.get(names);
      if (isKnown === undefined) {
        isKnown = store(names, listNumber(words, 0));
        isStored.set(names, isKnown);
      }
      return isKnown ? new Uint8Array(words.buffer, words.byteOffset, words.byteLength) : null;
    };
  };
}

/**
 * Makes the function that reads a list of names.
 *
 * @throws SvcError `corrupt_database`
 */
export function prepareReadMemberList(db: Db): (number: number) => readonly string[] {
  const find = db.prepare<[bigint], { id: bigint; names: string; checksum: bigint }>(
    'SELECT id, names, checksum FROM member_list WHERE id = ?',
  );
  return (number) => {
    const { id, names, checksum } = find.get(BigInt(number)) ?? { id: 0n, names: '', checksum: -1n };
    if (Number(checksum) !== checksumOfValues([id, names])) throw damaged('A stored list of member names');
    return JSON.parse(names);
  };
}
