import { append } from './append.js';
import type { V3Use } from './judge-file.js';
import type { RuleId } from './rules/rule.js';
import { RULES } from './rules/rules.js';
import { CERTAINTIES, type Certainty } from './scan-settings.js';

/** Rules that find different parts of one address. */
const OF_ADDRESS: ReadonlySet<RuleId> = new Set([
  'base-url',
  'route',
  'company-filter',
  'query-parameter',
  'hard-coded-id',
]);

/** A place in the code that has to change: a finding, or all findings about the address on one line. */
export interface CodePlace {
  readonly file: string;
  readonly line: number;
  readonly text: string;
  /** That of its surest finding. */
  readonly certainty: Certainty;
  /** In the order of the rules. */
  readonly findings: readonly V3Use[];
}

/** Groups findings into places, in their order. */
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
