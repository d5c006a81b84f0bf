import { parseTree } from 'jsonc-parser';
import type { OnProgress } from '../domain.js';
import { SvcError } from '../errors.js';
import { sha256Of } from '../runtime/sha256.js';
import { type Engine, type Facts, readFacts } from './facts.js';
import { Fuel } from './fuel.js';
import { LANGUAGES, languageOf } from './languages/languages.js';
import { plainKindOf, readPlainFacts } from './plain-text.js';
import { findRelevant } from './relevant-files.js';
import { type Certainty, Requests } from './requests.js';
import { Responses } from './responses.js';
import { isGenerated } from './rules/client-library.js';
import type { RuleId } from './rules/rule.js';
import { RULES } from './rules/rules.js';
import type { ScanSettings } from './scan-settings.js';
import { Project, readSource, type SourceFile } from './source-file.js';
import type { SyntaxParser } from './syntax.js';
import { TextReader } from './text-value.js';
import { Values } from './values.js';
import { type FoundFile, readText, type SkippedFile, walkFiles } from './walk-files.js';

/** A place that still speaks V3. */
export interface V3Use {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly rule: RuleId;
  readonly certainty: Certainty;
  readonly message: string;
  /** The V4 form. */
  readonly v4: string;
  /** The line, shortened. */
  readonly text: string;
  /** Stays the same when lines are added above. */
  readonly fingerprint: string;
  /** The V3 model of a route; null for other findings and unknown models. */
  readonly route: string | null;
}

/** A finding that a comment says is intended. */
export interface IgnoredUse {
  readonly file: string;
  readonly line: number;
  readonly rule: RuleId;
  readonly reason: string;
}

export interface ScanResult {
  readonly findings: readonly V3Use[];
  readonly files: {
    readonly read: { readonly path: string; readonly language: string }[];
    readonly skipped: readonly SkippedFile[];
  };
  readonly ignored: readonly IgnoredUse[];
}

export interface ScanRequest {
  /** Files and folders. */
  readonly places: readonly string[];
  /** Paths are relative to it. */
  readonly folder: string;
  /** Absolute paths of files of the tool itself. */
  readonly ownFiles: readonly string[];
  readonly settings: ScanSettings;
}

export interface ScanIo {
  readonly isStopped: () => boolean;
  readonly onProgress: OnProgress;
}

/** Most nodes of parsed files that are kept for the files that import them. */
const MAX_KEPT_NODES = 300_000;

/** Finds every place in the files that speaks V3. Reads only. */
export async function scanFiles(
  { places, folder, ownFiles, settings }: ScanRequest,
  { isStopped, onProgress }: ScanIo,
  parser: SyntaxParser,
): Promise<ScanResult> {
  const { files, skipped } = walkFiles(places, folder, ownFiles);
  const scanner = new Scanner(parser, files, settings, findRelevant(files, settings));
  for (const language of LANGUAGES) {
    const isNotebook = language.name === 'python' ? '.ipynb' : null;
    const isNeeded = files.some(
      ({ path }) => languageOf(path) === language || (isNotebook !== null && path.endsWith(isNotebook)),
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

interface FileResult {
  readonly path: string;
  /** null: not read. */
  readonly language: string | null;
  readonly why: string | null;
  readonly findings: readonly V3Use[];
  readonly ignored: readonly IgnoredUse[];
}

class Scanner {
  readonly parser: SyntaxParser;
  readonly #files: ReadonlyMap<string, FoundFile>;
  readonly #relevant: ReadonlySet<string>;
  readonly #engine: Engine;
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
    const values = new Values(project);
    const texts = new TextReader(values, this.#fuel);
    const requests = new Requests(values, texts, settings, this.#fuel);
    this.#engine = {
      values,
      texts,
      requests,
      responses: new Responses(values, requests, this.#fuel),
      settings,
      fuel: this.#fuel,
    };
  }

  scan({ path, absolute }: FoundFile): FileResult {
    const language = languageOf(path);
    this.#fuel.startFile();
    if (language !== null) {
      if (!this.#relevant.has(path))
        return { path, language: language.name, why: null, findings: [], ignored: [] };
      const file = this.#load(path);
      if (file === null || 'why' in file) return notRead(path, file?.why ?? 'cannot be read');
      const result = judge(readFacts(file, this.#engine), file.source, language.name);
      return this.#fuel.isFileOut ? { ...result, why: 'took too long: read in part' } : result;
    }
    const read = readText(absolute);
    if ('why' in read) return notRead(path, read.why);
    if (path.endsWith('.ipynb')) return this.#scanNotebook(path, read.text);
    const kind = plainKindOf(path) ?? 'text';
    return judge(readPlainFacts(path, read.text, kind, this.#engine.settings), read.text, kind);
  }

  /** The code of a notebook is Python inside the strings of a JSON file. */
  #scanNotebook(path: string, source: string): FileResult {
    const lines = notebookLines(source);
    const python = LANGUAGES.find(({ name }) => name === 'python');
    const text = lines.map((line) => line.text).join('');
    const root = python === undefined ? 'took too long to parse' : this.parser.parse(python, text);
    if (python === undefined || typeof root === 'string') return notRead(path, String(root));
    const facts = readFacts(readSource(path, python, text, root), this.#engine);
    const result = judge(facts, text, 'notebook');
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
    const read = readText(found.absolute);
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

/** Longest part of a line that is shown. */
const MAX_SHOWN = 160;
const STRENGTH: Readonly<Record<Certainty, number>> = { certain: 2, likely: 1, look: 0 };

/** Applies the rules; of several hits of a rule on a line, the surest counts. */
function judge(facts: Facts, source: string, language: string): FileResult {
  const starts = lineStarts(source);
  const rules = isGenerated(facts) ? RULES.filter(({ id }) => id === 'client-library') : RULES;
  const found = new Map<string, V3Use>();
  for (const rule of rules) {
    for (const { start, certainty, v4, route = null } of rule.find(facts)) {
      const line = lineOf(starts, start);
      const from = starts[line - 1] ?? 0;
      const known = found.get(`${rule.id} ${line}`);
      if (known !== undefined && STRENGTH[known.certainty] >= STRENGTH[certainty]) continue;
      const text = source
        .slice(from, Math.min((starts[line] ?? source.length + 1) - 1, from + MAX_SHOWN))
        .trim();
      const { id, message } = rule;
      const use = {
        file: facts.path,
        line,
        column: start - from + 1,
        rule: id,
        certainty,
        message,
        v4: v4 ?? rule.v4,
        text,
        fingerprint: '',
        route,
      };
      found.set(`${rule.id} ${line}`, use);
    }
  }
  const reasons = readIgnored(facts, source, starts);
  const all = withFingerprints([...found.values()].sort((a, b) => a.line - b.line || a.column - b.column));
  return {
    path: facts.path,
    language,
    why: null,
    findings: all.filter(({ line, rule }) => rule === 'mark' || !reasons.has(line)),
    ignored: all.flatMap(({ file, line, rule }) => {
      const reason = rule === 'mark' ? undefined : reasons.get(line);
      return reason === undefined ? [] : [{ file, line, rule, reason }];
    }),
  };
}

/** Equal lines of a file are told apart by their order. */
function withFingerprints(uses: readonly V3Use[]): V3Use[] {
  const seen = new Map<string, number>();
  return uses.map((use) => {
    const key = [use.rule, use.file, use.text].join('\n');
    const turn = (seen.get(key) ?? 0) + 1;
    seen.set(key, turn);
    return { ...use, fingerprint: sha256Of(`${key}\n${turn}`).slice(0, 32) };
  });
}

/** Reasons of `svc-migrate-ignore` comments by the line that they are about: their own, or else the next statement. */
function readIgnored(
  { nodes }: Facts,
  source: string,
  starts: readonly number[],
): ReadonlyMap<number, string> {
  const reasons = new Map<number, string>();
  for (const { 0: all, 1: reason = '', index } of source.matchAll(
    /(?:#|\/\/|\/\*|--|<!--)\s*svc-migrate-ignore:[ \t]*([^\n]*)/g,
  )) {
    const isComment =
      nodes.length === 0 ||
      nodes.some(
        (node) =>
          node.kind === 'comment' && node.start <= index && node.end >= index + all.length - reason.length,
      );
    const text = reason.replace(/\s*(\*\/|-->)\s*$/, '').trim();
    if (!isComment || text === '') continue;
    const line = lineOf(starts, index);
    const isAlone = source.slice(starts[line - 1], index).trim() === '';
    const first = isAlone ? line + 1 : line;
    for (let at = first; at <= (isAlone ? lastLineFrom(nodes, source, starts, first) : first); at += 1)
      reasons.set(at, text);
  }
  return reasons;
}

/** The last line of the statement that begins on a line. */
function lastLineFrom(
  nodes: Facts['nodes'],
  source: string,
  starts: readonly number[],
  line: number,
): number {
  const from = starts[line - 1] ?? 0;
  const start = from + (/^[ \t]*/.exec(source.slice(from, from + 200))?.[0].length ?? 0);
  const isBlock = nodes.filter(
    (node) =>
      node.start === start && node.parent !== null && node.kind !== 'function' && node.kind !== 'class',
  );
  const lines = isBlock.map(({ end }) => lineOf(starts, end - 1)).filter((last) => last - line < 20);
  return Math.max(line, ...lines);
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

function lineOf(starts: readonly number[], position: number): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= position) low = middle;
    else high = middle - 1;
  }
  return low + 1;
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
    if (line <= seen) return source.slice(0, start).split('\n').length;
  }
  return line;
}
