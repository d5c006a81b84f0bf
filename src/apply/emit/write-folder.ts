import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SvcError } from '../../errors.js';
import { onFile } from '../../runtime/write-output.js';
import * as z from '../../zod.js';
import type { EmittedFiles } from './layouts.js';

/** Names the plan and the files, so that the same plan may replace them. */
const MANIFEST = 'svc-migrate-sql.json';

const manifestSchema = z.object({ plan: z.string(), files: z.array(z.string()) });

/**
 * Checks that a folder does not exist, is empty, or holds only what an earlier run wrote.
 *
 * @throws SvcError `bad_input`
 */
export function assertOwnFolder(folder: string): void {
  if (!existsSync(folder)) return;
  const hint = 'Name a new or empty folder with --output, and copy the files from there.';
  if (!statSync(folder).isDirectory())
    throw new SvcError('bad_input', `${folder} is a file, not a folder.`, { hint });
  const own = new Set([MANIFEST, ...readManifest(folder).files]);
  const other = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !statSync(join(folder, name)).isDirectory())
    .find((name) => !own.has(name.replaceAll('\\', '/')));
  if (other === undefined) return;
  throw new SvcError('bad_input', `${folder} holds other files (such as ${other}); nothing was written.`, {
    hint,
  });
}

/**
 * Replaces what a run of the same plan wrote. The manifest is written first, so that an interrupted write is recognised.
 *
 * @throws SvcError `bad_input` if the folder holds other files or the SQL of another plan
 */
export function writeFolder(folder: string, files: EmittedFiles, plan: string): void {
  assertOwnFolder(folder);
  const before = readManifest(folder);
  if (before.files.length > 0 && before.plan !== plan) {
    throw new SvcError('bad_input', `${folder} holds the SQL of another plan; nothing was written.`, {
      hint: 'Name another folder with --output, or delete this one if its SQL was never used.',
    });
  }
  const names = [...files.keys()].sort();
  onFile(folder, () => {
    mkdirSync(folder, { recursive: true });
    writeManifest(folder, plan, [...new Set([...before.files, ...names])]);
    for (const name of readdirSync(folder)) {
      if (name !== MANIFEST) rmSync(join(folder, name), { recursive: true });
    }
    for (const [name, text] of files) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    writeManifest(folder, plan, names);
  });
}

function writeManifest(folder: string, plan: string, files: readonly string[]): void {
  const content = { about: 'Files written by svc-migrate apply --emit-sql', plan, files };
  writeFileSync(join(folder, MANIFEST), `${JSON.stringify(content, null, 2)}\n`);
}

function readManifest(folder: string): z.output<typeof manifestSchema> {
  try {
    return manifestSchema.parse(JSON.parse(readFileSync(join(folder, MANIFEST), 'utf8')));
  } catch {
    return { plan: '', files: [] };
  }
}
