import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { sha256OfFile } from '../../runtime/sha256.js';
import { type ApplyContext, NamedRows } from '../context.js';
import type { WrittenOutput } from './side-car.js';
import { Copier, openColumns, streamTarget } from './stream-file.js';

/** What became of a new file. */
interface ComparedOutput {
  /** Why its content cannot be what source and remap give; null if it is. */
  readonly problem: string | null;
  /** The lines that differ from what its run wrote. */
  readonly changed: NamedRows;
}

/**
 * Makes the content of a new file again, from its source with the current remap and the policy of its run, and compares it with what
 * the run wrote and with what is there now.
 */
export async function compareOutput(
  given: ApplyContext,
  { output, sideCar, target }: WrittenOutput,
): Promise<ComparedOutput> {
  const isChanged = existsSync(output) && (await sha256OfFile(output)) !== sideCar.output.sha256;
  const unknown = new NamedRows();
  if (isChanged) unknown.add('(the lines cannot be determined)');
  if (!existsSync(target.file)) return { problem: `${target.file} is gone`, changed: unknown };
  const lines = isChanged ? new LineComparison(output) : null;
  const copier = new Copier((bytes) => lines?.push(bytes));
  const context = { ...given, policy: { ...given.policy, ...sideCar.policy } };
  const works = openColumns(context, target);
  const pass = await streamTarget(context, target, works, { step: 'checking', copier });
  const changed = lines?.finish() ?? unknown;
  if (pass.sha256 !== sideCar.input.sha256)
    return { problem: `${target.file} changed since`, changed: unknown };
  if (copier.sha256 === sideCar.output.sha256) return { problem: null, changed };
  const isSameRemap = sideCar.remapSha256 === given.remapVersion.sha256;
  const problem = isSameRemap ? `${output} is not what the remap gives` : 'the current remap gives other ids';
  return { problem, changed: unknown };
}

const LF = 0x0a;

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
