import type { ParsedChild, RejectedObject } from '../domain.js';
import { SvcError } from '../errors.js';
import { type JsonScanner, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../json/json-scanner.js';
import { type KeyTable, Members, parseSmallId } from '../json/members.js';
import { Texts } from '../json/record-columns.js';
import { renderChildren } from '../json/stored-lists.js';

/** A child whose id member is not an id. */
export type RejectedChild = Omit<RejectedObject, 'position'>;

/** Maximum number of children of one list, because unordered lists are read into memory. */
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

/**
 * Reads the lists of a record's children, and writes them in the format of `json/stored-lists.ts`. A list whose ids are
 * plain and ascending, as nearly all are, is written while it is scanned. If one list of a record is not, all of its
 * lists are parsed again into objects.
 */
export class ChildReader {
  readonly #scanner: JsonScanner;
  readonly #layout: ChildrenLayout;
  readonly #members: Members;
  /** The list scanned last, for each children field. */
  readonly #lists: readonly ChildLines[];
  readonly #inOrder: readonly ChildLines[];

  constructor(scanner: JsonScanner, layout: ChildrenLayout) {
    this.#scanner = scanner;
    this.#layout = layout;
    this.#members = new Members(layout.childTable, scanner);
    this.#lists = layout.childPaths.map((path) => new ChildLines(path, layout.child, scanner, this.#members));
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
    list.at = at;
    let i = scanner.enter(at);
    for (let length = 0; scanner.more; length++) {
      if (length === MAX_CHILDREN) throw tooManyChildren(list.path);
      const start = i;
      if (scanner.bytes[start] === OPEN_OBJECT) {
        i = this.#members.read(start, 0, null);
        list.add();
      } else i = scanner.skipValue(start);
      i = scanner.nextItem(i);
    }
    return i;
  }

  /** Writes the children scanned since `reset`; nothing if there are none. */
  write(texts: Texts, reject: (child: RejectedChild) => void): void {
    if (!this.#lists.every((list) => list.isPlain)) {
      this.#writeUnordered(texts, reject);
      return;
    }
    const start = texts.length;
    for (const list of this.#inOrder) list.write(texts, texts.length === start);
    if (texts.length > start) texts.byte(CLOSE);
  }

  #writeUnordered(texts: Texts, reject: (child: RejectedChild) => void): void {
    const children = this.#lists.flatMap((list) =>
      list.at < 0 ? [] : this.#read(list.path, list.at, reject),
    );
    texts.text(renderChildren(children) ?? '');
  }

  #read(path: string, at: number, reject: (child: RejectedChild) => void): readonly ParsedChild[] {
    const scanner = this.#scanner;
    const children: ParsedChild[] = [];
    let i = scanner.enter(at);
    while (scanner.more) {
      const start = i;
      if (scanner.bytes[start] === OPEN_OBJECT) {
        i = this.#members.read(start, 0, null);
        this.#take(path, start, i, children, reject);
      } else i = scanner.skipValue(start);
      i = scanner.nextItem(i);
    }
    return children;
  }

  #take(
    path: string,
    start: number,
    end: number,
    children: ParsedChild[],
    reject: (child: RejectedChild) => void,
  ): void {
    const { child } = this.#layout;
    const members = this.#members;
    const { bytes } = this.#scanner;
    if (members.isAbsent(child.id)) return;
    const svcId = members.integer(child.id);
    if (svcId === null) {
      const reason = members.kind(child.id) === 0 ? 'no_svc_id' : 'bad_svc_id';
      reject({ path, reason, raw: bytes.subarray(start, end) });
      return;
    }
    children.push({
      path,
      svcId,
      platformId: members.key(child.platformId),
      platformUniqueId: members.key(child.uniqueId),
      deleted: members.kind(child.deletedAt) !== 0,
    });
  }
}

/** `]` */
const CLOSE = 0x5d;

function tooManyChildren(path: string): SvcError {
  return new SvcError('bad_response', `A record holds more than ${MAX_CHILDREN} objects in ${path}.`, {
    hint: 'Nothing of the page was stored. Remove the field from the children of the model, or ask the operator.',
  });
}

const COMMA = 0x2c;
const NULL = Buffer.from('null');
const KEPT = Buffer.from(',0]');
const DELETED = Buffer.from(',1]');

/** A list of children in the stored format, built while it is scanned. */
export class ChildLines {
  readonly path: string;
  /** Position of the list; -1 if there is none. */
  at = -1;
  /** False if a child cannot be written by copying its bytes. */
  isPlain = true;
  readonly #layout: ChildLayout;
  readonly #scanner: JsonScanner;
  readonly #members: Members;
  /** `["path","` */
  readonly #head: Uint8Array;
  readonly #texts = new Texts(512);
  #lastId = -1;

  constructor(path: string, layout: ChildLayout, scanner: JsonScanner, members: Members) {
    this.path = path;
    this.#layout = layout;
    this.#scanner = scanner;
    this.#members = members;
    this.#head = Buffer.from(`[${JSON.stringify(path)},"`);
  }

  clear(): void {
    this.at = -1;
    this.isPlain = true;
    this.#texts.clear();
    this.#lastId = -1;
  }

  /** Adds the object whose members were read last, if it has an id member. */
  add(): void {
    const { id, platformId, uniqueId, deletedAt } = this.#layout;
    const members = this.#members;
    if (members.isAbsent(id) || !this.isPlain) return;
    const svcId = parseSmallId(this.#scanner.bytes, members.start(id), members.end(id));
    this.isPlain = svcId > this.#lastId && !members.isEscaped(platformId) && !members.isEscaped(uniqueId);
    if (!this.isPlain) return;
    this.#lastId = svcId;
    const texts = this.#texts;
    texts.byte(COMMA);
    texts.copy(this.#head, 0, this.#head.length);
    texts.copy(this.#scanner.bytes, members.start(id), members.end(id));
    texts.byte(QUOTE);
    this.#addKey(platformId);
    this.#addKey(uniqueId);
    const isDeleted = members.kind(deletedAt) !== 0;
    texts.copy(isDeleted ? DELETED : KEPT, 0, KEPT.length);
  }

  /** Appends the list; the first one gets an opening bracket. */
  write(to: Texts, isFirst: boolean): void {
    if (this.#texts.length === 0) return;
    if (isFirst) to.byte(OPEN_ARRAY);
    to.copy(this.#texts.bytes, isFirst ? 1 : 0, this.#texts.length);
  }

  #addKey(slot: number): void {
    const texts = this.#texts;
    const members = this.#members;
    const { bytes } = this.#scanner;
    texts.byte(COMMA);
    if (!members.isKey(slot)) texts.copy(NULL, 0, NULL.length);
    else if (members.kind(slot) === QUOTE) texts.copy(bytes, members.start(slot), members.end(slot));
    else {
      texts.byte(QUOTE);
      texts.copy(bytes, members.start(slot), members.end(slot));
      texts.byte(QUOTE);
    }
  }
}
