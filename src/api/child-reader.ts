import type { RejectedObject } from '../domain.js';
import { SvcError } from '../errors.js';
import { type JsonScanner, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../json/json-scanner.js';
import { type KeyTable, Members, parseSmallId } from '../json/members.js';
import { Texts } from '../json/record-columns.js';

/** A child whose id member is not an id. */
export type RejectedChild = Omit<RejectedObject, 'position'>;

/** Maximum number of children of one list, because they are kept in memory. */
const MAX_CHILDREN = 200_000;

/** The slots of the members that are read from a child. */
export interface ChildLayout {
  readonly id: number;
  readonly platformId: number;
  readonly uniqueId: number;
  readonly deletedAt: number;
}

/** The members of a record that hold children. */
export interface ChildrenLayout {
  /** Slots from this one on are the fields with children, in the order of `childPaths`. */
  readonly firstChild: number;
  readonly childPaths: readonly string[];
  readonly childTable: KeyTable;
  readonly child: ChildLayout;
}

/** Reads the lists of a record's children, and writes them in the format of `json/stored-lists.ts`. */
export class ChildReader {
  readonly #scanner: JsonScanner;
  readonly #members: Members;
  /** The list scanned last, for each children field. */
  readonly #lists: readonly ChildList[];
  /** The same in the order in which they are written. */
  readonly #inOrder: readonly ChildList[];

  constructor(scanner: JsonScanner, { childPaths, childTable, child }: ChildrenLayout) {
    this.#scanner = scanner;
    this.#members = new Members(childTable, scanner);
    this.#lists = childPaths.map((path) => new ChildList(path, child, scanner, this.#members));
    this.#inOrder = [...this.#lists].sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** Clears the lists of the previous record. */
  reset(): void {
    for (const list of this.#lists) list.clear();
  }

  /** Scans the value at `at` of the children field `index` and returns its end. */
  walk(index: number, at: number): number {
    const scanner = this.#scanner;
    const list = this.#lists[index];
    list?.clear();
    if (list === undefined || scanner.bytes[at] !== OPEN_ARRAY) return scanner.skipValue(at);
    let i = scanner.enter(at);
    for (let length = 0; scanner.more; length++) {
      if (length === MAX_CHILDREN) throw tooManyChildren(list.path);
      const start = i;
      if (scanner.bytes[start] === OPEN_OBJECT) {
        i = this.#members.read(start, 0, null);
        list.add(start, i);
      } else i = scanner.skipValue(start);
      i = scanner.nextItem(i);
    }
    return i;
  }

  /** Writes the children scanned since `reset`; nothing if there are none. */
  write(texts: Texts, reject: (child: RejectedChild) => void): void {
    for (const { rejected } of this.#lists) rejected.forEach(reject);
    const start = texts.length;
    for (const list of this.#inOrder) list.write(texts);
    if (texts.length === start) return;
    texts.bytes[start] = OPEN_ARRAY;
    texts.byte(CLOSE);
  }
}

/** `]` */
const CLOSE = 0x5d;
const COMMA = 0x2c;
const NULL = Buffer.from('null');
const KEPT = Buffer.from(',0]');
const DELETED = Buffer.from(',1]');

function tooManyChildren(path: string): SvcError {
  return new SvcError('bad_response', `A record holds more than ${MAX_CHILDREN} objects in ${path}.`, {
    hint: 'Nothing of the page was stored. Remove the field from the children of the model, or ask the operator.',
  });
}

/**
 * The children of one list as lines of the stored format, each with a comma before it. They are written while the list is
 * scanned, because objects for them would cost a tenth of an export.
 */
class ChildList {
  readonly path: string;
  readonly rejected: RejectedChild[] = [];
  readonly #layout: ChildLayout;
  readonly #scanner: JsonScanner;
  readonly #members: Members;
  /** `["path","` */
  readonly #head: Uint8Array;
  readonly #lines = new Texts(512);
  /** The id of each line, and where it begins. */
  readonly #ids: (number | bigint)[] = [];
  readonly #starts: number[] = [];
  #isOrdered = true;

  constructor(path: string, layout: ChildLayout, scanner: JsonScanner, members: Members) {
    this.path = path;
    this.#layout = layout;
    this.#scanner = scanner;
    this.#members = members;
    this.#head = Buffer.from(`[${JSON.stringify(path)},"`);
  }

  clear(): void {
    this.rejected.length = 0;
    this.#lines.clear();
    this.#ids.length = 0;
    this.#starts.length = 0;
    this.#isOrdered = true;
  }

  /** Adds the object at `start` to `end`, whose members were read last, if it has an id member. */
  add(start: number, end: number): void {
    const { id, platformId, uniqueId, deletedAt } = this.#layout;
    const members = this.#members;
    if (members.isAbsent(id)) return;
    const { bytes } = this.#scanner;
    const small = parseSmallId(bytes, members.start(id), members.end(id));
    const svcId = small >= 0 ? small : members.integer(id);
    if (svcId === null) {
      const reason = members.kind(id) === 0 ? 'no_svc_id' : 'bad_svc_id';
      this.rejected.push({ path: this.path, reason, raw: bytes.subarray(start, end) });
      return;
    }
    const lines = this.#lines;
    if (this.#ids.length > 0) this.#isOrdered &&= svcId > (this.#ids.at(-1) ?? 0);
    this.#ids.push(svcId);
    this.#starts.push(lines.length);
    lines.byte(COMMA);
    lines.copy(this.#head, 0, this.#head.length);
    if (small >= 0) lines.copy(bytes, members.start(id), members.end(id));
    else lines.text(String(svcId));
    lines.byte(QUOTE);
    this.#addKey(platformId);
    this.#addKey(uniqueId);
    const isDeleted = members.kind(deletedAt) !== 0;
    lines.copy(isDeleted ? DELETED : KEPT, 0, KEPT.length);
  }

  /** Appends the lines in the order of their ids; of those with one id, the last. */
  write(to: Texts): void {
    const [ids, lines] = [this.#ids, this.#lines];
    if (this.#isOrdered) {
      to.copy(lines.bytes, 0, lines.length);
      return;
    }
    const last = new Map(ids.map((id, at) => [String(id), at]));
    const order = [...last.values()].sort((a, b) => ((ids[a] ?? 0) < (ids[b] ?? 0) ? -1 : 1));
    for (const at of order) to.copy(lines.bytes, this.#starts[at] ?? 0, this.#starts[at + 1] ?? lines.length);
  }

  #addKey(slot: number): void {
    const lines = this.#lines;
    const members = this.#members;
    const { bytes } = this.#scanner;
    lines.byte(COMMA);
    if (!members.isKey(slot)) lines.copy(NULL, 0, NULL.length);
    else if (members.isEscaped(slot)) lines.text(JSON.stringify(members.text(slot)));
    else if (members.kind(slot) === QUOTE) lines.copy(bytes, members.start(slot), members.end(slot));
    else {
      lines.byte(QUOTE);
      lines.copy(bytes, members.start(slot), members.end(slot));
      lines.byte(QUOTE);
    }
  }
}
