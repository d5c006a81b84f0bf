import { parseTree } from 'jsonc-parser';
import type { OnProgress } from '../domain.js';
import { SvcError } from '../errors.js';
import { escapeRegExp } from '../text/escape.js';
import { type FileResult, judgeFile, readRuleInput } from './judge-file.js';
import type { ScanSettings } from './rules/rule.js';
import type { ScanResult } from './scan-report.js';
import { buildSourceText, Lines, plainKindOf, readPlainText } from './source-text.js';
import { LANGUAGES, type Language, languageOf, type SyntaxParser } from './syntax.js';
import { type FoundFile, readText, walkFiles } from './walk-files.js';

export interface ScanRequest {
  /** Files and folders. */
  readonly paths: readonly string[];
  /** What paths are relative to. */
  readonly folder: string;
  /** Absolute paths of files that belong to this program; they are not scanned. */
  readonly ownFiles: readonly string[];
  readonly settings: ScanSettings;
}

export interface ScanIo {
  readonly isStopped: () => boolean;
  readonly onProgress: OnProgress;
}

/** Finds every use of V3 in the files. Reads only. */
export async function scanFiles(
  { paths, folder, ownFiles, settings }: ScanRequest,
  { isStopped, onProgress }: ScanIo,
  parser: SyntaxParser,
): Promise<ScanResult> {
  const { files, skipped } = walkFiles(paths, folder, ownFiles);
  for (const language of LANGUAGES) {
    if (files.some(({ path }) => grammarOf(path) === language)) await parser.prepare(language);
  }
  const words = wordsOfV3(settings);
  const isV3Project = namesHost(files, settings);
  const results = files.map((file, done) => {
    if (isStopped()) throw new SvcError('interrupted', 'Stopped; nothing was written.');
    onProgress({ kind: 'step', name: 'scan files', done, total: files.length });
    return scanFile(file, { parser, settings, words, isV3Project });
  });
  return {
    findings: results.flatMap((one) => one.findings),
    ignored: results.flatMap((one) => one.ignored),
    files: {
      read: results.flatMap(({ path, language }) => (language === null ? [] : [{ path, language }])),
      skipped: [...skipped, ...results.flatMap(({ path, why }) => (why === null ? [] : [{ path, why }]))],
    },
  };
}

/** The code of a notebook is Python inside the strings of a JSON file. */
function grammarOf(path: string): Language | null {
  const python = LANGUAGES.find(({ name }) => name === 'python') ?? null;
  return path.endsWith('.ipynb') ? python : languageOf(path);
}

/** Whether a file names a V3 host. */
function namesHost(files: readonly FoundFile[], { v3Urls }: ScanSettings): boolean {
  if (v3Urls.length === 0) return false;
  const hosts = new RegExp(v3Urls.map((url) => escapeRegExp(new URL(url).hostname)).join('|'), 'i');
  return files.some((file) => {
    const read = readText(file);
    return 'text' in read && hosts.test(read.text);
  });
}

/** Only code that contains one of these is parsed. */
function wordsOfV3({ v3Urls, models, fieldPrefix }: ScanSettings): RegExp {
  const categories = [...new Set(models.map(({ v3 }) => v3.replace(/\/.*$/, '')))].map(escapeRegExp);
  const plain = [
    ...v3Urls.map((url) => new URL(url).hostname),
    fieldPrefix.replace(/_$/, ''),
    'DATA_MODEL_CHANGES',
    'include_deleted_records',
    'return_count',
  ];
  const parts = [
    ...plain.map(escapeRegExp),
    '\\bv3\\b',
    `["'\`/}](?:${categories.join('|')})["'\`/]`,
    '(?:graphql|gql)\\s*[`(]',
  ];
  return new RegExp(parts.join('|'), 'i');
}

interface Scan {
  readonly parser: SyntaxParser;
  readonly settings: ScanSettings;
  readonly words: RegExp;
  readonly isV3Project: boolean;
}

function scanFile(found: FoundFile, { parser, settings, words, isV3Project }: Scan): FileResult {
  const { path } = found;
  const read = readText(found);
  if ('why' in read) return notRead(path, read.why);
  const grammar = grammarOf(path);
  if (grammar === null) {
    const kind = plainKindOf(path) ?? 'text';
    return judgeFile(
      readRuleInput(readPlainText(path, read.text, kind), settings, isV3Project),
      read.text,
      kind,
    );
  }
  const isNotebook = path.endsWith('.ipynb');
  const language = isNotebook ? 'notebook' : grammar.name;
  if (!words.test(read.text)) return { path, language, why: null, findings: [], ignored: [] };
  const cells = isNotebook ? notebookLines(read.text) : [];
  const source = isNotebook ? cells.map(({ text }) => text).join('') : read.text;
  const parts = parser.parse(grammar, source);
  if (parts === null) return notRead(path, 'took too long to parse');
  const text = buildSourceText(path, grammar.name, source, parts);
  const result = judgeFile(readRuleInput(text, settings, isV3Project), source, language);
  if (!isNotebook) return result;
  const lineOf = lineFinder(read.text, cells);
  const move = <T extends { readonly line: number }>(one: T): T => ({ ...one, line: lineOf(one.line) });
  return { ...result, findings: result.findings.map(move), ignored: result.ignored.map(move) };
}

function notRead(path: string, why: string): FileResult {
  return { path, language: null, why, findings: [], ignored: [] };
}

/** The lines of the code cells of a notebook, with where each is written. */
function notebookLines(source: string): { text: string; start: number }[] {
  const cells =
    parseTree(source)?.children?.find((one) => one.children?.[0]?.value === 'cells')?.children?.[1]
      ?.children ?? [];
  return cells.flatMap((cell) => {
    const member = (name: string) =>
      cell.children?.find((one) => one.children?.[0]?.value === name)?.children?.[1];
    if (member('cell_type')?.value !== 'code') return [];
    const given = member('source');
    const lines = given?.type === 'array' ? (given.children ?? []) : given === undefined ? [] : [given];
    return lines.map(({ value, offset }, at) => {
      const text = String(value).replace(/^[%!]/, '#');
      return { text: at === lines.length - 1 && !text.endsWith('\n') ? `${text}\n` : text, start: offset };
    });
  });
}

/** The line of the file for each line of the code of a notebook. */
function lineFinder(
  source: string,
  cells: readonly { text: string; start: number }[],
): (line: number) => number {
  const lines = new Lines(source);
  const found = cells.flatMap(({ text, start }) => Array(text.split('\n').length - 1).fill(lines.at(start)));
  return (line) => found[line - 1] ?? line;
}
