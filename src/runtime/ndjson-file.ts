import { closeSync, openSync, rmSync } from 'node:fs';
import { moveInto, onFile, realPath, writeFully } from './write-output.js';

const BUFFER_CHARS = 65_536;

/** Writes a file of one JSON value per line to a temporary file; `finish` gives it its name. */
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
    this.#fd = onFile(file, () => openSync(this.#temporary, 'w', 0o600));
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
    this.#close();
    onFile(this.#file, () => moveInto(this.#temporary, this.#file, { replace: true }));
  }

  /** Deletes the temporary file; does nothing after `finish`. */
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
    onFile(this.#file, () => {
      writeFully(fd, bytes);
    });
  }

  #close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}
