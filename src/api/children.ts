import type { ParsedChild } from '../domain.js';
import { type JsonScanner, OPEN_OBJECT } from './json-scan.js';
import { Members } from './members.js';
import type { RecordLayout } from './record-layout.js';
import { parseInt64, parsePlatformKey } from './svc-ids.js';

/** An object with an id member that holds no id. */
interface RejectedChild {
  readonly path: string;
  readonly reason: 'no_svc_id' | 'bad_svc_id';
  readonly raw: Uint8Array;
}

export interface ChildList {
  readonly children: readonly ParsedChild[];
  readonly rejected: readonly RejectedChild[];
}

/** Reads the arrays that hold a record's children. */
export class ChildReader {
  readonly #scanner: JsonScanner;
  readonly #layout: RecordLayout;
  readonly #members: Members;

  constructor(scanner: JsonScanner, layout: RecordLayout) {
    this.#scanner = scanner;
    this.#layout = layout;
    this.#members = new Members(layout.childTable, scanner);
  }

  /** Walks the array at `at` into `list` and tells where it ends. */
  read(path: string, at: number, into: (list: ChildList) => void): number {
    const scanner = this.#scanner;
    const children: ParsedChild[] = [];
    const rejected: RejectedChild[] = [];
    let i = scanner.enter(at);
    while (scanner.more) {
      const start = i;
      if (scanner.bytes[start] === OPEN_OBJECT) {
        i = this.#members.read(start, 0, null);
        this.#take(path, start, i, children, rejected);
      } else i = scanner.skipValue(start);
      i = scanner.nextItem(i);
    }
    into({ children: withoutRepeats(children), rejected });
    return i;
  }

  #take(path: string, start: number, end: number, children: ParsedChild[], rejected: RejectedChild[]): void {
    const { child } = this.#layout;
    const members = this.#members;
    const { bytes } = this.#scanner;
    if (members.isAbsent(child.id)) return;
    const svcId = parseInt64(bytes, members.start(child.id), members.end(child.id));
    if (svcId === null) {
      const reason = members.kind(child.id) === 0 ? 'no_svc_id' : 'bad_svc_id';
      rejected.push({ path, reason, raw: bytes.subarray(start, end) });
      return;
    }
    children.push({
      path,
      svcId,
      platformId: parsePlatformKey(this.#scanner, members, child.platformId),
      platformUniqueId: parsePlatformKey(this.#scanner, members, child.uniqueId),
      deleted: members.kind(child.deletedAt) !== 0,
    });
  }
}

/** Of children with the same id, the last one. */
function withoutRepeats(children: readonly ParsedChild[]): readonly ParsedChild[] {
  if (isAscending(children)) return children;
  const byId = new Map<bigint, ParsedChild>();
  for (const child of children) byId.set(child.svcId, child);
  return byId.size === children.length ? children : [...byId.values()];
}

/** The usual order, in which nothing can repeat. */
function isAscending(children: readonly ParsedChild[]): boolean {
  let last: bigint | null = null;
  for (const { svcId } of children) {
    if (last !== null && svcId <= last) return false;
    last = svcId;
  }
  return true;
}
