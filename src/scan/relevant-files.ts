import { posix } from 'node:path';
import { escapeRegExp } from '../text/escape.js';
import { languageOf } from './languages.js';
import type { ScanSettings } from './scan-settings.js';
import { foldName } from './source-file.js';
import { type FoundFile, readText } from './walk-files.js';

/** Maximum number of imports between a file and one that contains a word of V3. */
const MAX_HOPS = 3;

/**
 * Paths of the code files that may have findings, which are the only ones that are parsed: those that contain a word of
 * V3, and those that refer to such a file.
 */
export function findRelevant(files: readonly FoundFile[], settings: ScanSettings): ReadonlySet<string> {
  const words = wordsOfV3(settings);
  const code = files.filter(({ path }) => languageOf(path) !== null);
  const relevant = new Set<string>();
  const others: FoundFile[] = [];
  for (const file of code) {
    const read = readText(file);
    if ('why' in read || words.test(read.text)) relevant.add(file.path);
    else others.push(file);
  }
  let fresh: ReadonlySet<string> = relevant;
  for (let hop = 0; hop < MAX_HOPS && fresh.size > 0; hop += 1) {
    fresh = new Set(
      findReferring(
        others.filter(({ path }) => !relevant.has(path)),
        fresh,
      ),
    );
    for (const path of fresh) relevant.add(path);
  }
  return relevant;
}

function wordsOfV3({ v3Urls, models, fieldPrefix, clientPackages }: ScanSettings): RegExp {
  const hosts = v3Urls.map((url) => new URL(url).host);
  const categories = [...new Set(models.map(({ v3 }) => v3.replace(/\/.*$/, '')))];
  const camel = fieldPrefix.replace(/_$/, '');
  const plain = [
    ...hosts,
    ...clientPackages.flatMap((name) => [name, name.replaceAll('/', '\\')]),
    fieldPrefix,
    fieldPrefix.toUpperCase(),
    'svc-migrate',
    'DATA_MODEL_CHANGES',
    'include_deleted_records',
    'return_count',
  ];
  const parts = [
    ...plain.map(escapeRegExp),
    `\\b[vV]3\\b`,
    `\\b${camel}[A-Z]`,
    `\\b${camel.charAt(0).toUpperCase()}${camel.slice(1)}[A-Z]`,
    `["'\`/](?:${categories.join('|')})["'\`/]`,
    '(?:graphql|gql)\\s*[`(]',
  ];
  return new RegExp(parts.join('|'));
}

/** Files that refer to one of `known` by its module, its class or its package. */
function* findReferring(files: readonly FoundFile[], known: ReadonlySet<string>): Generator<string> {
  const modules = new Set([...known].map(moduleOf));
  const names = new Set([...known].flatMap(namesOf));
  const folders = new Set(
    [...known].filter((path) => path.endsWith('.go')).map((path) => posix.dirname(path)),
  );
  for (const file of files) {
    const { path } = file;
    const read = readText(file);
    if ('why' in read) continue;
    const isBeside = path.endsWith('.go') && folders.has(posix.dirname(path));
    const isScript = languageOf(path)?.imports === 'relative';
    const isReferring = isScript
      ? importedModules(read.text, path).some((module) => modules.has(module))
      : namesIn(read.text).some((name) => names.has(name));
    if (isBeside || isReferring) yield path;
  }
}

/** The path of a script as other scripts import it. */
function moduleOf(path: string): string {
  return path.replace(/\.\w+$/, '').replace(/(^|\/)index$/, '');
}

/** Modules of the project whose values a script imports. Imports of types alone are left out. */
function importedModules(text: string, path: string): string[] {
  const folder = posix.dirname(path);
  const pattern =
    /(?:(import|export)(\s+type\b)?[^'"`;]{0,2000}?from|require\(|import\(|import)\s*["'](\.[^"'\n]{0,200})["']/g;
  return [...text.matchAll(pattern)].flatMap(([, , isType, name = '']) =>
    isType === undefined ? [moduleOf(posix.join(folder, name))] : [],
  );
}

function namesOf(path: string): string[] {
  const base = posix.basename(path).replace(/\.\w+$/, '');
  const folder = posix.basename(posix.dirname(path));
  const isFolder = /^(__init__|mod)$/.test(base) || path.endsWith('.go');
  return [base, ...(isFolder ? [folder] : [])].map(foldName);
}

function namesIn(text: string): string[] {
  return [...text.matchAll(/([A-Za-z_]\w{1,80})/g)].map(([name]) => foldName(name));
}
