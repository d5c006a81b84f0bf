import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openFileStore } from '../../../src/apply/files/file-store.js';
import type { Policy } from '../../../src/apply/plan.js';
import { makeFolder } from './folder.js';
import { INVOICES, NEW, openContext, target } from './remap.js';

/** A file `orders` in a folder of its own, and what applies to it. */
export function openFile(
  remap: string,
  input: string | Buffer,
  more: object = {},
  kind: 'csv' | 'ndjson' = 'csv',
) {
  const folder = makeFolder();
  const [file, output] = [join(folder, `orders.${kind}`), join(folder, `orders.v4.${kind}`)];
  writeFileSync(file, input);
  /** A store by another policy, or of another target. */
  const open = (policy: Policy = NEW, changes: object = {}) => {
    const given = { kind, file, ids: [{ column: 'id', model: INVOICES }], ...more, ...changes };
    const one = target(given);
    if (!('file' in one) || one.kind === 'sqlite') throw new Error('not a file');
    return openFileStore(openContext(remap, policy), one);
  };
  return {
    folder,
    file,
    output,
    open,
    names: () => readdirSync(folder).sort(),
    read: (path = output) => readFileSync(path, 'utf8'),
    write: async (run = 'run-1', store = open()) =>
      store.write(await store.survey(), { run, planSha256: 'p', isExact: false }),
    undo: (run = 'run-1') => open().undo(run),
    /** Codes of what stands in the way. */
    blocks: async (policy?: Policy, changes?: object) =>
      (await open(policy, changes).survey()).flatMap(({ notes }) =>
        notes.filter(({ level }) => level === 'blocks').map(({ code }) => code),
      ),
  };
}
