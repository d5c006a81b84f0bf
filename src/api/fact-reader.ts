import { type JsonScanner, OPEN_ARRAY, OPEN_OBJECT } from '../json/json-scanner.js';
import type { Members } from '../json/members.js';
import type { Texts } from '../json/texts.js';
import { digestAmount, digestDate, digestText, FactWriter } from './facts.js';
import type { RecordLayout } from './record-layout.js';
import { isPlatformKey } from './svc-ids.js';

/** Writes the facts of the record whose members were read last. */
export class FactReader {
  readonly #scanner: JsonScanner;
  readonly #members: Members;
  readonly #writer: FactWriter;
  readonly #slots: Int32Array;
  readonly #layout: RecordLayout;

  constructor(scanner: JsonScanner, layout: RecordLayout, members: Members) {
    this.#scanner = scanner;
    this.#members = members;
    this.#layout = layout;
    this.#slots = Int32Array.from(layout.facts, ({ slot }) => slot);
    this.#writer = new FactWriter(layout.facts.map(({ field }) => field));
  }

  /** `instants`: per slot, its date in ms, NaN where it is none. */
  write(instants: Float64Array, texts: Texts): void {
    const slots = this.#slots;
    for (let index = 0; index < slots.length; index++) {
      const slot = slots[index] ?? 0;
      const first = this.#members.kind(slot);
      if (first !== 0 && this.#isCarried(slot, first)) {
        this.#writer.add(texts, index, this.#digest(index, slot, instants[slot] ?? Number.NaN));
      }
    }
  }

  /** Arrays and objects are not carried; nor is an empty text, which says nothing. */
  #isCarried(slot: number, first: number): boolean {
    if (first === OPEN_ARRAY || first === OPEN_OBJECT || this.#members.isEmptyText(slot)) return false;
    return slot !== this.#layout.uniqueId || isPlatformKey(this.#scanner, this.#members, slot);
  }

  #digest(index: number, slot: number, instant: number): number {
    const kind = this.#layout.facts[index]?.field.kind;
    if (kind === 'date' && !Number.isNaN(instant)) return digestDate(instant);
    return this.#members.onScalar(slot, kind === 'amount' ? digestAmount : digestText);
  }
}
