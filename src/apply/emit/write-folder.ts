import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SvcError } from '../../errors.js';
import { onFile } from '../../runtime/write-output.js';
import * as z from '../../zod.js';
import type { EmittedFiles } from './layouts.js';

/** Names the files we wrote, so that the next run may replace them. */
const MANIFEST = 'svc-migrate-sql.json';

const manifestSchema = z.object({ files: z.array(z.string()) });

/**
 * Checks that a folder is not there, empty, or holds only what an earlier run wrote.
 *
 * @throws SvcError `bad_input`
 */
export function assertOwnFolder(folder: string): void {
  if (!existsSync(folder)) return;
  if (!statSync(folder).isDirectory())
    throw new SvcError('bad_input', `${folder} is a file, not a folder.`, {
      hint: 'Name a folder with --output.',
    });
  const own = new Set([MANIFEST, ...readManifest(folder)]);
  const other = listFiles(folder).find((name) => !own.has(name));
  if (other === undefined) return;
  throw new SvcError('bad_input', `${folder} holds other files (such as ${other}); nothing was written.`, {
    hint: 'Name a new or empty folder with --output, and copy the files from there.',
  });
}

/** Replaces what an earlier run wrote. The manifest comes first: an interrupted write is still known as ours. */
export function writeFolder(folder: string, files: EmittedFiles): void {
  const before = existsSync(folder) ? readManifest(folder) : [];
  onFile(folder, () => {
    mkdirSync(folder, { recursive: true });
    const names = [...new Set([...before, ...files.keys()])].sort();
    writeFileSync(join(folder, MANIFEST), manifestText(names));
    for (const name of before) rmSync(join(folder, name), { force: true });
    for (const [name, text] of files) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    removeEmptyFolders(folder);
    writeFileSync(join(folder, MANIFEST), manifestText([...files.keys()].sort()));
  });
}

function manifestText(files: readonly string[]): string {
  return `${JSON.stringify({ about: 'Files written by svc-migrate apply --emit-sql', files }, null, 2)}\n`;
}

function readManifest(folder: string): readonly string[] {
  try {
    const found: unknown = JSON.parse(readFileSync(join(folder, MANIFEST), 'utf8'));
    return manifestSchema
      .parse(found)
      .files.filter((name) => !name.startsWith('/') && !name.split('/').includes('..'));
  } catch {
    return [];
  }
}

/** Files in a folder and its folders, by their paths in it. */
function listFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !statSync(join(folder, name)).isDirectory())
    .map((name) => name.replaceAll('\\', '/'));
}

function removeEmptyFolders(folder: string): void {
  for (const one of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, one.name);
    if (one.isDirectory() && readdirSync(path).length === 0) rmSync(path, { recursive: true });
  }
}
