import type { Kid, Thing } from './exported.js';

/**
 * The contract's matching table for one pair of lists, by nested loops, written without a look at the SQL.
 * Dates: a window start; a V4 record is "created later" if it says so.
 */
export interface OracleRules {
  readonly windowStart: string | null;
  readonly readUntil: string;
  readonly v3Full: boolean;
  readonly v4Full: boolean;
  readonly v4Absent: boolean;
}

interface Item {
  readonly id: number | bigint;
  readonly key?: string | null;
  readonly uid?: string | null;
  readonly deleted?: boolean;
  readonly latest?: string | null;
  readonly created?: string | null;
}

export function oracleLines(v3: readonly Thing[], v4: readonly Thing[], rules: OracleRules): string[] {
  const lines: string[] = [];
  const outcomes3 = v3.map((a) => outcomeOf(a, v3, v4, rules));
  const pointed = new Set(outcomes3.map(({ twin }) => twin).filter((twin) => twin !== undefined));
  const fold = (key: string) =>
    key
      .trim()
      .normalize('NFC')
      .toLowerCase()
      .replace(/^0+(?=.)/u, '');
  const near = (a: Item, b: Item) =>
    (a.uid != null && a.uid === b.uid) || (a.key != null && b.key != null && fold(a.key) === fold(b.key));
  const outcomes4 = v4.map((b) => (pointed.has(b) ? null : leftOver(b, v3, v4, rules)));
  const only4 = v4.filter((_, at) => /v4_only\/(open|no_platform_id)/.test(outcomes4[at] ?? ''));
  const only3 = v3.filter((_, at) => /unmatched\/(open|no_platform_id)/.test(outcomes3[at]?.text ?? ''));
  for (const [at, a] of v3.entries()) {
    const { text, twin, by } = outcomes3[at] ?? { text: '', twin: undefined, by: '' };
    const why = () =>
      only4.some((b) => near(a, b))
        ? 'key_changed'
        : isOld(a, rules)
          ? 'outside_backfill_window'
          : 'unexplained';
    const final = text === 'unmatched/open' ? `unmatched/${why()}` : text;
    lines.push(`${a.id}→${twin?.id ?? '-'} ${final}${by}`);
    // children of merged records are cases of the join table
    if (!by.endsWith(' merged')) lines.push(...childrenOfV3(a, twin, final, rules));
  }
  for (const [at, b] of v4.entries()) {
    const text = outcomes4[at];
    if (text == null) continue;
    const later = b.created != null && Date.parse(b.created) > Date.parse(rules.readUntil);
    const why = () =>
      only3.some((a) => near(a, b)) ? 'key_changed' : later ? 'created_after_export' : 'unexplained';
    const final = text === 'v4_only/open' ? `v4_only/${why()}` : text;
    lines.push(`-→${b.id} ${final}`);
    for (const kid of b.kids ?? []) lines.push(`child -→${kid.id} ${inherited(final)}`);
  }
  return [...new Set(lines)].filter((line) => !isPointedElsewhere(line, lines)).sort();
}

/** A V4 child two V3 parents share is left over only where neither's children became it. */
function isPointedElsewhere(line: string, lines: readonly string[]): boolean {
  const [, id] = /^child -→(\d+) /u.exec(line) ?? [];
  return id !== undefined && lines.some((other) => new RegExp(`^child \\d+→${id} `, 'u').test(other));
}

function isOld(a: Item, { windowStart }: OracleRules): boolean {
  return windowStart !== null && a.latest != null && Date.parse(a.latest) < Date.parse(windowStart);
}

function inherited(outcome: string): string {
  return outcome.replace('/', '/parent_');
}

function outcomeOf<T extends Item>(
  a: T,
  all3: readonly T[],
  all4: readonly T[],
  rules: OracleRules,
): { text: string; twin?: T; by: string } {
  const none = (text: string) => ({ text, by: '' });
  if (a.deleted && a.key == null) return none('deleted/no_platform_id');
  if (a.key == null) return none(rules.v4Full ? 'unmatched/no_platform_id' : 'unmatched/scope_incomplete');
  if (rules.v4Absent) return none(a.deleted ? 'deleted/model_not_in_v4' : 'unmatched/model_not_in_v4');
  const group3 = all3.filter(({ key }) => key === a.key);
  const group4 = all4.filter(({ key }) => key === a.key);
  const live3 = group3.filter(({ deleted }) => !deleted);
  if (a.deleted && live3.length > 0) return none('deleted/superseded_in_v3');
  if (group4.length === 0 && !rules.v4Full) return none('unmatched/scope_incomplete');
  if (group4.length === 0) return none(a.deleted ? 'deleted/deleted_not_in_v4' : 'unmatched/open');
  const live4 = group4.filter(({ deleted }) => !deleted);
  const candidates = live4.length > 0 ? live4 : group4;
  const sameUid = candidates.filter(({ uid }) => uid != null && uid === a.uid);
  let twin: T | undefined;
  let by = '';
  if (!a.deleted && live3.length > 1) {
    twin = sharedTwin(a, candidates);
    if (twin === undefined) return none('ambiguous/duplicate_platform_id_v3');
    if (candidates.length > 1 || (a.uid != null && a.uid === twin.uid)) by = ' by uid';
    const sharers = live3.filter((other) => sharedTwin(other, candidates) === twin);
    if (sharers.length > 1) by += ' merged';
  } else if (candidates.length > 1) {
    if (sameUid.length !== 1) return none('ambiguous/duplicate_platform_id_v4');
    [twin] = sameUid;
    by = ' by uid';
  } else [twin] = candidates;
  if (twin === undefined) throw new Error('no candidate');
  const text = a.deleted
    ? twin.deleted
      ? 'deleted/deleted_in_both'
      : 'deleted/deleted_in_v3'
    : twin.deleted
      ? 'deleted/deleted_in_v4'
      : 'matched';
  return { text, twin, by };
}

/** The twin of a live record beside other live ones. */
function sharedTwin<T extends Item>(a: T, candidates: readonly T[]): T | undefined {
  const [first, ...more] = candidates;
  if (more.length > 0) {
    const same = candidates.filter(({ uid }) => uid != null && uid === a.uid);
    return same.length === 1 ? same[0] : undefined;
  }
  const differs = a.uid != null && first?.uid != null && a.uid !== first.uid;
  return differs ? undefined : first;
}

function leftOver<T extends Item>(b: T, all3: readonly T[], all4: readonly T[], rules: OracleRules): string {
  const group3 = b.key == null ? [] : all3.filter(({ key }) => key === b.key);
  const group4 = b.key == null ? [b] : all4.filter(({ key }) => key === b.key);
  const live4 = group4.filter(({ deleted }) => !deleted);
  if (b.deleted && live4.length > 0) return 'deleted/superseded_in_v4';
  const live3 = group3.filter(({ deleted }) => !deleted);
  if (group3.length > 0) return `ambiguous/duplicate_platform_id_${live3.length > 1 ? 'v3' : 'v4'}`;
  if (!rules.v3Full) return 'v4_only/scope_incomplete';
  if (b.deleted) return 'deleted/deleted_v4_only';
  return b.key == null ? 'v4_only/no_platform_id' : 'v4_only/open';
}

/** Children of a pair by the same table, of anything else as their parent; V4's leftovers of the pair too. */
function childrenOfV3(a: Thing, twin: Thing | undefined, outcome: string, rules: OracleRules): string[] {
  const own = a.kids ?? [];
  const others = twin?.kids ?? [];
  const inside = {
    ...rules,
    windowStart: null,
    readUntil: '9999-01-01',
    v3Full: true,
    v4Full: true,
    v4Absent: false,
  };
  const paths = [...new Set([...own, ...others].map(({ path }) => path))];
  const of = (kids: readonly Kid[], path: string | undefined) => kids.filter((kid) => kid.path === path);
  const lines =
    twin === undefined
      ? own.map((kid) => `${kid.id}→- x`)
      : paths.flatMap((path) => oracleLines(of(own, path), of(others, path), inside));
  return lines.map((line) => {
    const [ids = '', rest = ''] = line.split(/ (.*)/su);
    const by = / by uid( merged)?$/.test(rest) ? ' by uid' : '';
    return `child ${ids} ${outcome === 'matched' ? rest : inherited(outcome) + by}`;
  });
}
