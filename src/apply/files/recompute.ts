import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import type { FileTarget } from '../../config/apply-targets.js';
import { type ApplyContext, NamedRows } from '../context.js';
import { backupOf, type SideCar } from './side-car.js';
import { Copier, openColumns, streamTarget } from './stream-file.js';

/** The file that an output was made from: its backup or, if the run wrote a new file, the target's file. */
export function sourceOf(target: FileTarget, output: string, sideCar: SideCar): string {
  return backupOf(output, sideCar) ?? target.file;
}

/**
 * Rewrites the source of an output again, with the current remap and the policy of the run. `target` names the source.
 * `sink` receives the bytes and must not use them after it returns.
 */
export async function recompute(
  given: ApplyContext,
  target: FileTarget,
  sideCar: SideCar,
  sink: (bytes: Buffer) => void = () => {},
): Promise<{ readonly sha256: string; readonly edits: number }> {
  const context = { ...given, policy: { ...given.policy, ...sideCar.policy, mode: sideCar.mode } };
  const copier = new Copier(sink);
  const works = openColumns(context, target);
  const pass = await streamTarget(context, target, works, { step: 'checking', copier });
  return { sha256: copier.sha256, edits: pass.edits };
}

const LF = 0x0a;

/** The lines of an output that differ from what its run wrote, which is recomputed from the source. */
export async function changedLines(
  context: ApplyContext,
  target: FileTarget,
  output: string,
  sideCar: SideCar,
): Promise<NamedRows> {
  const source = sourceOf(target, output, sideCar);
  const unknown = new NamedRows();
  unknown.add('(the lines cannot be determined)');
  if (!existsSync(source)) return unknown;
  const comparison = new LineComparison(output);
  const again = await recompute(context, { ...target, file: source }, sideCar, (bytes) =>
    comparison.push(bytes),
  );
  const changed = comparison.finish();
  return again.sha256 === sideCar.output.sha256 ? changed : unknown;
}

/** Compares a stream of bytes with a file, line by line. */
class LineComparison {
  readonly #actual: Generator<Buffer, undefined>;
  readonly #changed = new NamedRows();
  #rest = Buffer.alloc(0);
  #line = 0;

  constructor(file: string) {
    this.#actual = readLines(file);
  }

  /** Adds expected bytes, and copies those that it needs later. */
  push(bytes: Buffer): void {
    const all = Buffer.concat([this.#rest, bytes]);
    let from = 0;
    for (let end = all.indexOf(LF); end >= 0; end = all.indexOf(LF, from)) {
      this.#compare(all.subarray(from, end + 1));
      from = end + 1;
    }
    this.#rest = all.subarray(from);
  }

  finish(): NamedRows {
    if (this.#rest.length > 0) this.#compare(this.#rest);
    for (let more = this.#actual.next(); more.done !== true; more = this.#actual.next()) this.#add();
    return this.#changed;
  }

  #compare(expected: Buffer): void {
    const actual = this.#actual.next();
    if (actual.done !== true && actual.value.equals(expected)) this.#line += 1;
    else this.#add();
  }

  #add(): void {
    this.#line += 1;
    this.#changed.add(`line ${this.#line}`);
  }
}

function* readLines(file: string): Generator<Buffer, undefined> {
  const fd = openSync(file, 'r');
  const chunk = Buffer.alloc(256 * 1024);
  let rest = Buffer.alloc(0);
  try {
    for (;;) {
      const got = readSync(fd, chunk, 0, chunk.length, null);
      const bytes = Buffer.concat([rest, chunk.subarray(0, got)]);
      let from = 0;
      for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF, from)) {
        yield bytes.subarray(from, end + 1);
        from = end + 1;
      }
      rest = bytes.subarray(from);
      if (got > 0) continue;
      if (rest.length > 0) yield rest;
      return;
    }
  } finally {
    closeSync(fd);
  }
}
