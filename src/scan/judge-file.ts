import { sha256Of } from '../runtime/sha256.js';
import { indentEnd, lineOf, lineStarts, lineText } from './lines.js';
import type { RuleInput } from './rule-input.js';
import { isGenerated } from './rules/client-library.js';
import type { RuleId } from './rules/rule.js';
import { RULES } from './rules/rules.js';
import { CERTAINTIES, type Certainty } from './scan-settings.js';

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

/** What was found in a file. */
export interface FileResult {
  readonly path: string;
  /** null: not read. */
  readonly language: string | null;
  readonly why: string | null;
  readonly findings: readonly V3Use[];
  readonly ignored: readonly IgnoredUse[];
}

/** Longest part of a line that is shown. */
const MAX_SHOWN = 160;

/** Applies the rules to a file; of several hits of a rule on a line, the surest counts. */
export function judgeFile(input: RuleInput, source: string, language: string): FileResult {
  const starts = lineStarts(source);
  const rules = isGenerated(input) ? RULES.filter(({ id }) => id === 'client-library') : RULES;
  const found = new Map<string, V3Use>();
  for (const rule of rules) {
    for (const { start, certainty, v4, route = null } of rule.find(input)) {
      const line = lineOf(starts, start);
      const from = starts[line - 1] ?? 0;
      const known = found.get(`${rule.id} ${line}`);
      if (known !== undefined && rankOf(known.certainty) <= rankOf(certainty)) continue;
      const text = lineText(source, starts, line).slice(0, MAX_SHOWN).trim();
      const { id, message } = rule;
      const use = {
        file: input.path,
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
  const reasons = readIgnored(input, source, starts);
  const all = withFingerprints([...found.values()].sort((a, b) => a.line - b.line || a.column - b.column));
  return {
    path: input.path,
    language,
    why: null,
    findings: all.filter(({ line, rule }) => rule === 'mark' || !reasons.has(line)),
    ignored: all.flatMap(({ file, line, rule }) => {
      const reason = rule === 'mark' ? undefined : reasons.get(line);
      return reason === undefined ? [] : [{ file, line, rule, reason }];
    }),
  };
}

const rankOf = (certainty: Certainty): number => CERTAINTIES.indexOf(certainty);

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
  { nodes }: RuleInput,
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
  nodes: RuleInput['nodes'],
  source: string,
  starts: readonly number[],
  line: number,
): number {
  const start = indentEnd(source, starts, line);
  const isBlock = nodes.filter(
    (node) =>
      node.start === start && node.parent !== null && node.kind !== 'function' && node.kind !== 'class',
  );
  const lines = isBlock.map(({ end }) => lineOf(starts, end - 1)).filter((last) => last - line < 20);
  return Math.max(line, ...lines);
}
