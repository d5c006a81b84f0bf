import { sha256Of } from '../runtime/sha256.js';
import { append } from '../text/rows.js';
import { isGenerated } from './rules/clients.js';
import type { RuleId, RuleInput } from './rules/rule.js';
import { RULES } from './rules/rules.js';
import type { IgnoredUse, V3Use } from './scan-report.js';
import { CERTAINTIES, type Certainty } from './scan-settings.js';
import { lastBefore } from './scopes.js';
import { Lines, type Span } from './source-text.js';

/** What was found in a file. */
export interface FileResult {
  readonly path: string;
  /** null: not read. */
  readonly language: string | null;
  /** Why it was not read, or not to its end. */
  readonly why: string | null;
  readonly findings: readonly V3Use[];
  readonly ignored: readonly IgnoredUse[];
}

/** Maximum number of characters of a line that are shown. */
const MAX_SHOWN = 160;

/** Applies the rules to a file; of several hits of one rule on a line, the surest is kept. */
export function judgeFile(input: RuleInput, source: string, language: string): FileResult {
  const lines = new Lines(source);
  const rules = isGenerated(input) ? RULES.filter(({ id }) => id === 'client-library') : RULES;
  const surest = new Map<string, V3Use>();
  for (const { id, message, v4: general, find } of rules) {
    for (const { start, certainty, v4 = general, route = null } of find(input)) {
      const line = lines.at(start);
      const known = surest.get(`${id} ${line}`);
      if (known !== undefined && rankOf(known.certainty) <= rankOf(certainty)) continue;
      const column = start - lines.startOf(line) + 1;
      const text = lines.textOf(line).slice(0, MAX_SHOWN).trim();
      const use = { file: input.text.path, line, column, rule: id, certainty, message, v4, text };
      surest.set(`${id} ${line}`, { ...use, fingerprint: '', route });
    }
  }
  const reasons = readIgnored(input, lines);
  const all = withFingerprints([...surest.values()].sort((a, b) => a.line - b.line || a.column - b.column));
  return {
    path: input.text.path,
    language,
    why: null,
    findings: all.filter(({ line }) => !reasons.has(line)),
    ignored: all.flatMap(({ file, line, rule }) => {
      const reason = reasons.get(line);
      return reason === undefined ? [] : [{ file, line, rule, reason }];
    }),
  };
}

const rankOf = (certainty: Certainty): number => CERTAINTIES.indexOf(certainty);

/** Adds fingerprints. Equal lines of a file are numbered, so that theirs differ. */
function withFingerprints(uses: readonly V3Use[]): V3Use[] {
  const seen = new Map<string, number>();
  return uses.map((use) => {
    const key = [use.rule, use.file, use.text].join('\n');
    const nth = (seen.get(key) ?? 0) + 1;
    seen.set(key, nth);
    return { ...use, fingerprint: sha256Of(`${key}\n${nth}`).slice(0, 32) };
  });
}

const IGNORE = /(?:#|\/\/|\/\*|--|<!--)\s*svc-migrate-ignore:[ \t]*([^\n]*)/g;

/** Reasons of `svc-migrate-ignore` comments, by the lines they apply to: their own, or those of the next statement. */
function readIgnored({ text: { comments, isCode } }: RuleInput, lines: Lines): ReadonlyMap<number, string> {
  const { source } = lines;
  const reasons = new Map<number, string>();
  for (const { 0: all, 1: reason = '', index } of source.matchAll(IGNORE)) {
    const isComment = !isCode || isInside(comments, index, index + all.length - reason.length);
    const text = reason.replace(/\s*(\*\/|-->)\s*$/, '').trim();
    if (!isComment || text === '') continue;
    const line = lines.at(index);
    const isAlone = source.slice(lines.startOf(line), index).trim() === '';
    const [first, last] = isAlone ? [line + 1, lastLineOf(lines, line + 1)] : [line, line];
    for (let at = first; at <= last; at += 1) reasons.set(at, text);
  }
  return reasons;
}

function isInside(spans: readonly Span[], start: number, end: number): boolean {
  const one = spans[lastBefore(spans, start)];
  return one !== undefined && one.end >= end;
}

/** Maximum number of lines of a statement that a comment excepts. */
const MAX_STATEMENT = 20;

/** The last line of the statement that begins on a line: what follows is indented more, or closes it. */
function lastLineOf(lines: Lines, first: number): number {
  const indentOf = (line: number) => /^[ \t]*/.exec(lines.textOf(line))?.[0].length ?? 0;
  const indent = indentOf(first);
  let last = first;
  while (last - first < MAX_STATEMENT) {
    const next = lines.textOf(last + 1);
    const isInner = next.trim() !== '' && indentOf(last + 1) > indent;
    if (!isInner && !/^\s*[)\]}]/.test(next)) return last;
    last += 1;
    if (!isInner) return last;
  }
  return first;
}

/** Rules that find different parts of one address. */
const OF_ADDRESS: ReadonlySet<RuleId> = new Set([
  'base-url',
  'route',
  'company-filter',
  'query-parameter',
  'hard-coded-id',
]);

/** A place in the code that has to change: a finding, or all findings about the address on one line. */
export interface CodePlace extends Readonly<Pick<V3Use, 'file' | 'line' | 'text'>> {
  /** The certainty of its surest finding. */
  readonly certainty: Certainty;
  /** In the order of the rules. */
  readonly findings: readonly V3Use[];
}

/** Groups findings into places, in the order of the findings. */
export function groupPlaces(findings: readonly V3Use[]): readonly CodePlace[] {
  const groups = new Map<string, V3Use[]>();
  for (const one of findings) {
    const what = OF_ADDRESS.has(one.rule) ? 'address' : one.rule;
    const key = `${one.file}\0${one.line}\0${what}`;
    append(groups, key, one);
  }
  const ranks = new Map(RULES.map(({ id }, at) => [id, at]));
  return [...groups.values()].flatMap((found) => {
    const sorted = found.toSorted((a, b) => (ranks.get(a.rule) ?? 0) - (ranks.get(b.rule) ?? 0));
    const [first] = sorted;
    if (first === undefined) return [];
    const certainty = CERTAINTIES.find((one) => found.some((use) => use.certainty === one)) ?? 'look';
    return [{ file: first.file, line: first.line, text: first.text, certainty, findings: sorted }];
  });
}
