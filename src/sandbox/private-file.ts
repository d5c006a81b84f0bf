import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';

/** Writes a file that only its owner can read, atomically: under another name first. */
export function writePrivateFile(file: string, pieces: Iterable<string>): void {
  const beside = `${file}.tmp`;
  rmSync(beside, { force: true });
  const descriptor = openSync(beside, 'wx', 0o600);
  try {
    for (const piece of pieces) writeSync(descriptor, piece);
    fsyncSync(descriptor);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
  renameSync(beside, file);
}
