import { type JsonScanner, QUOTE } from '../json/json-scanner.js';
import type { Members } from '../json/members.js';
import { Texts } from '../json/texts.js';
import type { ChildLayout } from './record-layout.js';
import { isPlatformKey, parseSmallId } from './svc-ids.js';

const OPEN = 0x5b;
const COMMA = 0x2c;
const NULL = Buffer.from('null');
const KEPT = Buffer.from(',0]');
const DELETED = Buffer.from(',1]');

/** One list of children as it is stored, made while it is walked. */
export class ChildLines {
  readonly path: string;
  /** Where the list is; -1 where there is none. */
  at = -1;
  /** False once a child came that needs more than copying its bytes. */
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

  /** Writes the list behind others, or with an opening bracket. */
  write(to: Texts, isFirst: boolean): void {
    if (this.#texts.length === 0) return;
    if (isFirst) to.byte(OPEN);
    to.copy(this.#texts.bytes, isFirst ? 1 : 0, this.#texts.length);
  }

  #addKey(slot: number): void {
    const texts = this.#texts;
    const members = this.#members;
    const { bytes } = this.#scanner;
    texts.byte(COMMA);
    if (!isPlatformKey(this.#scanner, members, slot)) texts.copy(NULL, 0, NULL.length);
    else if (members.kind(slot) === QUOTE) texts.copy(bytes, members.start(slot), members.end(slot));
    else {
      texts.byte(QUOTE);
      texts.copy(bytes, members.start(slot), members.end(slot));
      texts.byte(QUOTE);
    }
  }
}
