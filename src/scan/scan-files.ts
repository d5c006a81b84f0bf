import { parseTree } from 'jsonc-parser';
import type { OnProgress } from '../domain.js';
import { SvcError } from '../errors.js';
import { EnvelopeReader } from './envelope-reader.js';
import { Fuel } from './fuel.js';
import { type FileResult, judgeFile } from './judge-file.js';
import { LANGUAGES, languageOf } from './languages.js';
import { plainKindOf, readPlainText } from './plain-text.js';
import { findRelevant } from './relevant-files.js';
import { RequestFinder } from './request-finder.js';
import { readRuleInput, type SourceReaders } from './rule-input.js';
import type { ScanReport } from './scan-report.js';
import type { ScanSettings } from './scan-settings.js';
import { Lines, Project, readSource, type SourceFile } from './source-file.js';
import type { SyntaxParser } from './syntax.js';
import { TextReader } from './text-reader.js';
import { ValueResolver } from './value-resolver.js';
import { type FoundFile, readText, walkFiles } from './walk-files.js';

/** What a scan found. */
export type ScanResult = Pick<ScanReport, 'findings' | 'files' | 'ignored'>;

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

/** Maximum number of syntax nodes kept in memory, for files that import them. */
const MAX_KEPT_NODES = 300_000;

/** Finds every use of V3 in the files. Reads only. */
export async function scanFiles(
  { paths, folder, ownFiles, settings }: ScanRequest,
  { isStopped, onProgress }: ScanIo,
  parser: SyntaxParser,
): Promise<ScanResult> {
  const { files, skipped } = walkFiles(paths, folder, ownFiles);
  const scanner = new Scanner(parser, files, settings, findRelevant(files, settings));
  for (const language of LANGUAGES) {
    const isNeeded = files.some(
      ({ path }) => languageOf(path) === language || (language.name === 'python' && path.endsWith('.ipynb')),
    );
    if (isNeeded) await scanner.parser.prepare(language);
  }
  const results = files.map((file, done) => {
    if (isStopped()) throw new SvcError('interrupted', 'Stopped; nothing was written.');
    onProgress({ kind: 'step', name: 'scan files', done, total: files.length });
    return scanner.scan(file);
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

class Scanner {
  readonly parser: SyntaxParser;
  readonly #files: ReadonlyMap<string, FoundFile>;
  readonly #relevant: ReadonlySet<string>;
  readonly #readers: SourceReaders;
  readonly #kept = new Map<string, SourceFile | { readonly why: string }>();
  #keptNodes = 0;
  readonly #fuel = new Fuel();

  constructor(
    parser: SyntaxParser,
    files: readonly FoundFile[],
    settings: ScanSettings,
    relevant: ReadonlySet<string>,
  ) {
    this.parser = parser;
    this.#relevant = relevant;
    this.#files = new Map(files.map((file) => [file.path, file]));
    const project = new Project([...this.#files.keys()], (path) => {
      const file = this.#load(path);
      return file === null || 'why' in file ? null : file;
    });
    const values = new ValueResolver(project);
    const texts = new TextReader(values, this.#fuel);
    const requests = new RequestFinder(values, texts, settings, this.#fuel);
    this.#readers = {
      values,
      texts,
      requests,
      responses: new EnvelopeReader(values, requests, this.#fuel),
      settings,
      fuel: this.#fuel,
    };
  }

  scan(found: FoundFile): FileResult {
    const { path } = found;
    const language = languageOf(path);
    this.#fuel.startFile();
    if (language !== null) {
      if (!this.#relevant.has(path))
        return { path, language: language.name, why: null, findings: [], ignored: [] };
      const file = this.#load(path);
      if (file === null || 'why' in file) return notRead(path, file?.why ?? 'cannot be read');
      const input = readRuleInput(file, this.#readers);
      const result = judgeFile(input, file.source, language.name);
      if (this.#fuel.isFileExhausted) return { ...result, why: 'took too long: read in part' };
      return result;
    }
    const read = readText(found);
    if ('why' in read) return notRead(path, read.why);
    if (path.endsWith('.ipynb')) return this.#scanNotebook(path, read.text);
    const kind = plainKindOf(path) ?? 'text';
    return judgeFile(readPlainText(path, read.text, kind, this.#readers.settings), read.text, kind);
  }

  /** The code of a notebook is Python inside the strings of a JSON file. */
  #scanNotebook(path: string, source: string): FileResult {
    const lines = notebookLines(source);
    const python = LANGUAGES.find(({ name }) => name === 'python');
    const text = lines.map((line) => line.text).join('');
    const root = python === undefined ? 'took too long to parse' : this.parser.parse(python, text);
    if (python === undefined || typeof root === 'string') return notRead(path, String(root));
    const input = readRuleInput(readSource(path, python, text, root), this.#readers);
    const result = judgeFile(input, text, 'notebook');
    const move = <T extends { readonly line: number }>(one: T): T => ({
      ...one,
      line: lineAt(source, lines, one.line),
    });
    return { ...result, findings: result.findings.map(move), ignored: result.ignored.map(move) };
  }

  #load(path: string): SourceFile | { readonly why: string } | null {
    const known = this.#kept.get(path);
    if (known !== undefined) return known;
    const found = this.#files.get(path);
    const language = languageOf(path);
    if (found === undefined || language === null || !this.#relevant.has(path)) return null;
    const read = readText(found);
    const root = 'why' in read ? read.why : this.parser.parse(language, read.text);
    const file =
      'why' in read || typeof root === 'string'
        ? { why: String(root) }
        : readSource(path, language, read.text, root);
    this.#keep(path, file);
    return file;
  }

  #keep(path: string, file: SourceFile | { readonly why: string }): void {
    this.#kept.set(path, file);
    this.#keptNodes += sizeOf(file);
    for (const [oldest, one] of this.#kept) {
      if (this.#keptNodes <= MAX_KEPT_NODES || oldest === path) break;
      this.#kept.delete(oldest);
      this.#keptNodes -= sizeOf(one);
    }
  }
}

function sizeOf(file: SourceFile | { readonly why: string }): number {
  return 'why' in file ? 1 : file.nodes.length;
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

/** The line of the file for a line of the code of a notebook. */
function lineAt(source: string, lines: readonly { text: string; start: number }[], line: number): number {
  let seen = 0;
  for (const { text, start } of lines) {
    seen += text.split('\n').length - 1;
    if (line <= seen) return new Lines(source).at(start);
  }
  return line;
}
