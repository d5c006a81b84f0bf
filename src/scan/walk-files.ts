import {
  closeSync,
  type Dirent,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import { describeFileError, SvcError } from '../errors.js';
import { plainKindOf } from './source-text.js';
import { languageOf } from './syntax.js';

/** A file that is not read, or a folder that is left out as a whole. */
export interface SkippedFile {
  readonly path: string;
  readonly why: string;
}

export interface FoundFile {
  /** Relative to the working folder, with slashes. */
  readonly path: string;
  readonly absolute: string;
}

export interface FoundFiles {
  readonly files: readonly FoundFile[];
  readonly skipped: readonly SkippedFile[];
}

const VENDORED =
  /^(node_modules|bower_components|vendor|vendors|third_party|thirdparty|site-packages|\.venv|venv|__pycache__|Pods|\.terraform|\.bundle|\.yarn|jspm_packages)$/;
const LOCK_FILES =
  /^(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|composer\.lock|Gemfile\.lock|poetry\.lock|Pipfile\.lock|Cargo\.lock|go\.sum|packages\.lock\.json|uv\.lock)$/;
const MIB = 1024 * 1024;
/** Maximum size of a file, in MiB: code is rarely larger, but recordings and other data often are. */
const MAX_MIB = 2;
const MAX_HAR_MIB = 32;
/** Maximum number of files in a scan. */
const MAX_FILES = 200_000;
const MAX_DEPTH = 64;
const OWN_FILE = 'file of svc-migrate';

/** A `.gitignore` with the folder that it is in. */
interface IgnoreFile {
  readonly folder: string;
  readonly rules: Ignore;
}

/**
 * Lists the files below `paths`, in the order of their paths.
 *
 * @throws SvcError `usage` if a path does not exist
 */
export function walkFiles(paths: readonly string[], folder: string, ownFiles: readonly string[]): FoundFiles {
  const files = new Map<string, FoundFile>();
  const skipped: SkippedFile[] = [];
  const shown = (absolute: string) => relative(folder, absolute).split(sep).join('/') || '.';
  const visit = (absolute: string, entry: Entry, ignores: readonly IgnoreFile[], depth: number): void => {
    const isExcluded = depth > 0 && isIgnored(absolute, entry.isDirectory(), ignores);
    const why = isExcluded ? 'ignored by .gitignore' : whySkipped(absolute, entry, depth, ownFiles);
    if (why === null) {
      const path = shown(absolute);
      files.set(path, { path, absolute });
    } else if (why !== 'folder') {
      if (why !== 'hidden') skipped.push({ path: shown(absolute), why });
    } else {
      const own = [...ignores, ...readIgnoreFile(absolute)];
      for (const child of listFolder(absolute, shown, skipped))
        visit(join(absolute, child.name), child, own, depth + 1);
    }
    if (files.size > MAX_FILES)
      throw new SvcError('usage', `There are more than ${MAX_FILES} files.`, {
        hint: 'Scan a part of the folder.',
      });
  };
  for (const path of paths) {
    const absolute = resolve(folder, path);
    const above = ignoresAbove(absolute);
    const entry = statNamed(path, absolute);
    // A path that was named is read even if it is ignored.
    visit(absolute, entry, isIgnored(absolute, entry.isDirectory(), above) ? [] : above, 0);
  }
  const found = [...files.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  return { files: found, skipped: skipped.sort((a, b) => (a.path < b.path ? -1 : 1)) };
}

type Entry = Pick<Dirent, 'name' | 'isDirectory' | 'isFile' | 'isSymbolicLink'>;

function statNamed(path: string, absolute: string): Entry {
  try {
    // A link that is named is followed.
    const stats = statSync(absolute);
    return Object.assign(stats, { name: basename(absolute) });
  } catch (error) {
    throw new SvcError('usage', `Cannot read ${path}: ${describeFileError(error)}.`, {
      hint: 'Name a file or a folder that exists.',
    });
  }
}

function listFolder(absolute: string, shown: (path: string) => string, skipped: SkippedFile[]): Dirent[] {
  try {
    return readdirSync(absolute, { withFileTypes: true });
  } catch (error) {
    skipped.push({ path: shown(absolute), why: `cannot be read: ${describeFileError(error)}` });
    return [];
  }
}

/** Why a file is not read; null if it is, `folder` if its entries are. `hidden` is not reported. */
function whySkipped(
  absolute: string,
  entry: Entry,
  depth: number,
  ownFiles: readonly string[],
): string | null {
  const { name } = entry;
  if (entry.isSymbolicLink()) return 'symbolic link';
  const isFolder = entry.isDirectory();
  if (isFolder && name === '.git') return 'hidden';
  if (isFolder) {
    if (depth > 0 && VENDORED.test(name)) return 'vendored';
    return depth > MAX_DEPTH ? 'nested too deeply' : 'folder';
  }
  if (!entry.isFile()) return 'not a regular file';
  if (ownFiles.includes(absolute) || /^svc-migrate\.config\.jsonc?$/.test(name)) return OWN_FILE;
  if (LOCK_FILES.test(name)) return 'lock file';
  if (/[.-]min\.(js|mjs|cjs|css)$|\.(js|css)\.map$/.test(name)) return 'minified';
  return languageOf(name) === null && plainKindOf(name) === null && !name.endsWith('.ipynb')
    ? 'not a kind of file that is read'
    : null;
}

function isIgnored(absolute: string, isFolder: boolean, ignores: readonly IgnoreFile[]): boolean {
  let isExcluded = false;
  for (const { folder, rules } of ignores) {
    const path = relative(folder, absolute).split(sep).join('/');
    const { ignored, unignored } = rules.test(isFolder ? `${path}/` : path);
    if (ignored) isExcluded = true;
    if (unignored) isExcluded = false;
  }
  return isExcluded;
}

function readIgnoreFile(folder: string): IgnoreFile[] {
  const file = join(folder, '.gitignore');
  try {
    return [{ folder, rules: ignore().add(readFileSync(file, 'utf8')) }];
  } catch {
    return [];
  }
}

/** The ignore files of the folders above, up to the root of the repository. */
function ignoresAbove(absolute: string): IgnoreFile[] {
  const folders: string[] = [];
  for (let at = dirname(absolute); ; at = dirname(at)) {
    folders.unshift(at);
    if (existsSync(join(at, '.git'))) return folders.flatMap(readIgnoreFile);
    if (dirname(at) === at) return [];
  }
}

/** The text of a file, or why it is not read. */
export function readText({
  absolute,
}: Pick<FoundFile, 'absolute'>): { readonly text: string } | { readonly why: string } {
  let bytes: Buffer;
  try {
    const fd = openSync(absolute, 'r');
    try {
      const most = absolute.endsWith('.har') ? MAX_HAR_MIB : MAX_MIB;
      if (fstatSync(fd).size > most * MIB) return { why: `larger than ${most} MiB` };
      bytes = readFileSync(fd);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    return { why: `cannot be read: ${describeFileError(error)}` };
  }
  if (bytes.subarray(0, 8192).includes(0)) return { why: 'binary' };
  const text = bytes.toString('utf8');
  if (isOwnJson(text)) return { why: OWN_FILE };
  return isMinified(text, absolute) ? { why: 'minified' } : { text };
}

/** How JSON that this program writes begins. A code quality report without findings is an empty list. */
const OWN_JSON =
  /^(\{\s*"schemaVersion": \d+,\s*"tool": \{\s*"name": "svc-migrate"|\[\s*\{\s*"engine_name": "svc-migrate"|\[\]\s*$)/;

/** Whether a text is JSON that this program wrote, which quotes code and must not be scanned. */
export function isOwnJson(text: string): boolean {
  return OWN_JSON.test(text);
}

/** Longer lines are not written by people, unless they hold data. */
const LONG_LINE = 400;
const LONG_SHARE = 0.2;

/** Whether a good part of the lines of code is too long for a person to have written them; comments do not count. */
function isMinified(text: string, path: string): boolean {
  if (languageOf(path) === null || text.length < 5000) return false;
  const lines = text.split('\n').filter((line) => !/^\s*($|\/\*|\*|\/\/|#)/.test(line.slice(0, LONG_LINE)));
  const long = lines.filter((line) => line.length > LONG_LINE).length;
  return long > 0 && long >= lines.length * LONG_SHARE;
}
