import type { Config } from '../../config/config.js';
import { type Correction, type Finding, note, ok, problem, type RemoteContext, warning } from './check.js';
import { type AskList, type ListAnswer, type ListContent, type SampledList, sizeOf } from './sample-lists.js';

/** Whether a parameter does what its name says; `always`: also without the parameter. */
type Effect = 'honoured' | 'ignored' | 'refused' | 'always' | 'unknown';

const MEANINGS: Readonly<Record<Effect, string>> = {
  honoured: 'is honoured',
  ignored: 'is ignored',
  refused: 'is refused',
  always: 'makes no difference: V4 always does it',
  unknown: 'is unknown: the sampled records do not show it',
};

/** A parameter other than `include_deleted_records`, and how its effect is found out. */
interface Probe {
  /** The code of its finding. */
  readonly code: string;
  readonly name: string;
  /** What follows if it has no effect. */
  readonly consequence: string;
  /** The parameters to request a list with, one for each answer, by what it held without any. */
  readonly ask: (before: ListContent, fieldPrefix: string) => readonly (readonly [string, string])[];
  /** Compares the answers with that without a parameter. */
  readonly judge: (before: ListContent, first: ListContent, second: ListContent | undefined) => Effect;
}

export const PROBES: readonly Probe[] = [
  {
    code: 'eq',
    name: '{field}[eq]',
    consequence: 'recheck and verify then read whole lists instead of single records.',
    ask: (before) =>
      keysIn(before)
        .map((key) => ['platform_id[eq]', key] as const)
        .slice(0, 1),
    judge: (before, { records }) => {
      const [key, ...others] = keysIn(before);
      if (records.some(({ platformId }) => platformId !== key)) return 'ignored';
      return records.length > 0 && others.length > 0 ? 'honoured' : 'unknown';
    },
  },
  {
    code: 'gte',
    name: '{field}[gte]',
    consequence: 'only V3 needs it: V4 is always read again in full.',
    ask: (_, prefix) =>
      ['2100', '1970'].map((year) => [`${prefix}updated_at[gte]`, `${year}-01-01T00:00:00.000Z`] as const),
    judge: (_, late, early) => {
      if (late.records.length > 0) return 'ignored';
      return early !== undefined && early.records.length > 0 ? 'honoured' : 'unknown';
    },
  },
  {
    code: 'sort',
    name: 'sort',
    consequence: 'nothing depends on it: V4 is read in its own order.',
    ask: (_, prefix) => ['ASC', 'DESC'].map((way) => [`sort[${prefix}created_at]`, way] as const),
    judge: (_, up, down = up) => {
      const [rising, falling] = [datesOf(up), datesOf(down)];
      if (new Set([...rising, ...falling]).size < 2 || rising.includes(null) || falling.includes(null)) {
        return 'unknown';
      }
      if (isRising(rising) && isRising(falling.reverse())) return 'honoured';
      return up.records.every(({ svcId }, at) => svcId === down.records[at]?.svcId) ? 'ignored' : 'unknown';
    },
  },
  {
    code: 'select',
    name: 'select',
    consequence: 'nothing depends on it: records are read whole.',
    ask: () => [['select', 'data_hash']],
    judge: (before, { records }) => {
      if (records.length === 0) return 'unknown';
      if (before.records.some(({ hasHash }) => hasHash)) return 'always';
      return records.some(({ hasHash }) => hasHash) ? 'honoured' : 'ignored';
    },
  },
];

function keysIn({ records }: ListContent): readonly string[] {
  return [...new Set(records.flatMap(({ platformId }) => platformId ?? []))];
}

function datesOf({ records }: ListContent): (number | null)[] {
  return records.map(({ createdMs }) => createdMs);
}

function isRising(dates: readonly (number | null)[]): boolean {
  return dates.every((ms, at) => at === 0 || Number(ms) >= Number(dates[at - 1]));
}

/** The effect of a parameter, by the answers without it and with it. */
export function judgeProbe(
  { judge }: Pick<Probe, 'judge'>,
  before: ListContent,
  answers: readonly ListAnswer[],
): Effect {
  if (answers.some(({ kind }) => kind === 'refused')) return 'refused';
  const [first, second, ...rest] = answers.flatMap((one) => (one.kind === 'answers' ? [one] : []));
  const isWhole = first !== undefined && answers.every(({ kind }) => kind === 'answers');
  return isWhole && rest.length === 0 ? judge(before, first, second) : 'unknown';
}

/** Records requested if only their order or number matters. */
const FEW = 10;
/** Maximum number of lists searched for deleted records. */
const MAX_LISTS = 5;

/** A list that answered with records. */
interface FilledList extends SampledList {
  readonly answer: ListContent;
}

/** Finds out how V4 treats parameters, by comparing its answers with and without them. */
export async function checkParameters({ config, ask, v4 }: RemoteContext): Promise<Finding[]> {
  if (!v4.answered || v4.asked.length === 0) return [];
  const longest = v4.lists
    .flatMap(({ answer, pair, ...list }): FilledList[] => {
      const isFilled = answer.kind === 'answers' && answer.records.length > 0;
      return isFilled ? [{ ...list, answer, pair: { ...pair, expand: [] } }] : [];
    })
    .sort((a, b) => sizeOf(b.answer) - sizeOf(a.answer))
    .slice(0, MAX_LISTS);
  const [list] = longest;
  const tryOut = async (probe: Probe): Promise<Effect> => {
    if (list === undefined) return 'unknown';
    const parameters = probe.ask(list.answer, config.fieldPrefix);
    const answers = await Promise.all(parameters.map((parameter) => ask(list, FEW, [parameter])));
    return judgeProbe(probe, list.answer, answers);
  };
  const { includeDeleted } = config.v4;
  const [deleted, ...effects] = await Promise.all([probeDeleted(ask, longest), ...PROBES.map(tryOut)]);
  const others = PROBES.map(({ code, name, consequence }, at) => {
    const effect = effects[at] ?? 'unknown';
    const text = `V4 ${name} ${MEANINGS[effect]}`;
    return effect === 'honoured' ? ok(code, `${text}.`) : note(code, `${text}; ${consequence}`);
  });
  const finding = judgeDeletedParameter(deleted, includeDeleted);
  return [{ ...finding, corrections: correctDeleted(deleted, includeDeleted) }, ...others];
}

interface DeletedEffect {
  readonly effect: Effect;
  /** Whether it is refused in an answer that names the parameter: only then an export continues without it. */
  readonly refusesDeletedByName: boolean;
}

async function probeDeleted(ask: AskList, lists: readonly FilledList[]): Promise<DeletedEffect> {
  for (const list of lists) {
    const before = list.answer;
    const withDeleted = await ask(list, 100, [['include_deleted_records', 'true']]);
    const effect = judgeProbe({ judge: judgeDeleted }, before, [withDeleted]);
    // The same rule as in exports.
    const refusesDeletedByName =
      withDeleted.kind === 'refused' && String(withDeleted.error.facts['answer']).includes('include_deleted');
    if (effect !== 'unknown') return { effect, refusesDeletedByName };
    if (withDeleted.kind !== 'answers' || before.totalCount === null) continue;
    if ((withDeleted.totalCount ?? 0) <= before.totalCount) continue;
    // Rules out a list that grew meanwhile.
    const again = await ask(list, 1);
    if (again.kind === 'answers' && again.totalCount === before.totalCount) {
      return { effect: 'honoured', refusesDeletedByName };
    }
  }
  return { effect: 'unknown', refusesDeletedByName: false };
}

/** Compares answers without and with `include_deleted_records`. */
export function judgeDeleted(before: ListContent, withDeleted: ListContent): Effect {
  if (before.records.some(({ deleted }) => deleted)) return 'always';
  return withDeleted.records.some(({ deleted }) => deleted) ? 'honoured' : 'unknown';
}

/** Asks for V4's deleted records where it honours that, and not where it refuses it. */
function correctDeleted({ effect }: DeletedEffect, setting: Config['v4']['includeDeleted']): Correction[] {
  const value = effect === 'honoured';
  if (value ? setting !== false : effect !== 'refused' || setting === false) return [];
  const text = `v4.includeDeleted → ${value}: V4 ${value ? 'honours' : 'refuses'} include_deleted_records`;
  return [{ path: ['v4', 'includeDeleted'], value, text }];
}

/** What the effect of include_deleted_records means for an export. */
function judgeDeletedParameter(
  { effect, refusesDeletedByName }: DeletedEffect,
  includeDeleted: Config['v4']['includeDeleted'],
): Finding {
  const code = 'include_deleted_records';
  const text = `V4 include_deleted_records ${MEANINGS[effect]}`;
  if (effect === 'refused' && (includeDeleted === true || (includeDeleted && !refusesDeletedByName))) {
    const fix = 'Set v4.includeDeleted to false.';
    return problem('deleted_refused', 2, `${text}, so an export that asks for it would fail.`, fix);
  }
  if (effect === 'refused' || effect === 'ignored') {
    const result = includeDeleted === false ? '' : ' What was deleted in V4 will count as missing.';
    return note(code, `${text}.${result}`);
  }
  if (effect === 'honoured' && includeDeleted === false) {
    const all = `${text}, and v4.includeDeleted is false: what was deleted in V4 will count as missing.`;
    return warning(code, all, 'Set v4.includeDeleted to "auto".');
  }
  return (effect === 'unknown' ? note : ok)(code, `${text}.`);
}
