import { closeSync, fsyncSync, openSync, realpathSync, renameSync, rmSync, writeSync } from 'node:fs';
import { errorCodeOf, SvcError } from '../errors.js';

const BUFFER_CHARS = 65_536;

/** A file of one JSON value per line: all of it under its name once it is finished, or nothing. */
export class NdjsonFile {
  readonly #file: string;
  readonly #temporary: string;
  #fd: number | null;
  #lines: string[] = [];
  #chars = 0;

  /** @throws SvcError `output` */
  constructor(file: string) {
    this.#file = realPath(file);
    this.#temporary = `${this.#file}.${process.pid}.tmp`;
    this.#fd = asOutput(file, () => openSync(this.#temporary, 'w', 0o600));
  }

  add(value: object): void {
    const line = `${JSON.stringify(value)}\n`;
    this.#lines.push(line);
    this.#chars += line.length;
    if (this.#chars >= BUFFER_CHARS) this.#flush();
  }

  /** @throws SvcError `output` */
  finish(): void {
    this.#flush();
    asOutput(this.#file, () => {
      if (this.#fd !== null) fsyncSync(this.#fd);
      this.#close();
      renameSync(this.#temporary, this.#file);
    });
  }

  /** Leaves nothing behind; after `finish` it does nothing. */
  discard(): void {
    this.#close();
    rmSync(this.#temporary, { force: true });
  }

  #flush(): void {
    const bytes = Buffer.from(this.#lines.join(''));
    this.#lines = [];
    this.#chars = 0;
    const fd = this.#fd;
    if (fd === null) return;
    asOutput(this.#file, () => {
      for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    });
  }

  #close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}

function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

function asOutput<T>(file: string, step: () => T): T {
  try {
    return step();
  } catch (cause) {
    const code = errorCodeOf(cause);
    throw new SvcError('output', `Cannot write ${file}: ${code}.`, {
      hint: 'Check that the folder exists, can be written and has room.',
      facts: { error: code },
      cause,
    });
  }
}
