import { randomBytes } from 'node:crypto';
import { chmodSync, lstatSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { moveInto, onFile } from './write-output.js';

/** `outside`: it is a link, or behind one, that leads out of the folder. */
export type Replaced = 'written' | 'changed' | 'outside';

/**
 * Replaces a file atomically and keeps its mode, if it still holds `before`.
 *
 * @throws SvcError `output`
 */
export function replaceUnchanged(
  target: string,
  { before, after, folder }: { readonly before: string; readonly after: string; readonly folder: string },
): Replaced {
  return onFile(target, () => {
    if (lstatSync(target, { throwIfNoEntry: false }) === undefined) return 'changed';
    const file = realpathSync(target);
    if (file !== target && relative(realpathSync(folder), file).startsWith('..')) return 'outside';
    if (!readFileSync(file).equals(Buffer.from(before))) return 'changed';
    const mode = statSync(file).mode & 0o7777;
    const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`;
    try {
      writeFileSync(temporary, after, { flag: 'wx', mode });
      chmodSync(temporary, mode);
      moveInto(temporary, file, { replace: true });
    } finally {
      rmSync(temporary, { force: true });
    }
    return 'written';
  });
}
