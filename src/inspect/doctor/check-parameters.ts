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

/** Records requested if only their order or number matters. */
const FEW = 10;
/** Maximum number of lists searched for deleted records. */
const MAX_LISTS = 5;

/** A list that answered with records. */
interface FilledList extends SampledList {
  readonly answer: ListContent;
}

/** Parameters other than `include_deleted_records`: how each is tried, and what follows if it has no effect. */
const PROBES: readonly (readonly [code: string, name: string, probe: Probe, consequence: string])[] = [
  ['eq', '{field}[eq]', probeEq, 'recheck and verify then read whole lists instead of single records.'],
  ['gte', '{field}[gte]', probeGte, 'only V3 needs it: V4 is always read again in full.'],
  ['sort', 'sort', probeSort, 'nothing depends on it: V4 is read in its own order.'],
  ['select', 'select', probeSelect, 'nothing depends on it: records are read whole.'],
];

/** Finds out how V4 treats parameters, by comparing its answers with and without them. */
export async function checkParameters({ config, ask, v4 }: RemoteContext): Promise<Finding[]> {
  if (v4.asked.length === 0) return [];
  const longest = v4.lists
    .filter(isFilled)
    .sort((a, b) => sizeOf(b.answer) - sizeOf(a.answer))
    .slice(0, MAX_LISTS);
  const [list] = longest;
  const askBare: AskBare = (own, name, value) => ask(withoutExpand(own), FEW, [[name, value]]);
  const [deleted, ...others] = await Promise.all([
    probeDeleted(ask, longest),
    ...PROBES.map(async ([code, name, probe, consequence]) => {
      const effect = list === undefined ? 'unknown' : await probe(askBare, list, config.fieldPrefix);
      const text = `V4 ${name} ${MEANINGS[effect]}`;
      return effect === 'honoured' ? ok(code, `${text}.`) : note(code, `${text}; ${consequence}`);
    }),
  ]);
  const finding = judgeDeletedParameter(deleted, config.v4.includeDeleted);
  return [{ ...finding, corrections: correctDeleted(deleted, config.v4.includeDeleted) }, ...others];
}

/** Asks for V4's deleted records where it honours that, and not where it refuses it. */
function correctDeleted({ effect }: DeletedEffect, setting: Config['v4']['includeDeleted']): Correction[] {
  const value = effect === 'honoured';
  if (value ? setting !== false : effect !== 'refused' || setting === false) return [];
  const text = `v4.includeDeleted → ${value}: V4 ${value ? 'honours' : 'refuses'} include_deleted_records`;
  return [{ path: ['v4', 'includeDeleted'], value, text }];
}

type Probe = (askBare: AskBare, list: FilledList, fieldPrefix: string) => Promise<Effect>;

/** Requests a few records of a list with one more parameter. */
type AskBare = (list: FilledList, name: string, value: string) => Promise<ListAnswer>;

function isFilled(list: SampledList): list is FilledList {
  return list.answer.kind === 'answers' && list.answer.records.length > 0;
}

function withoutExpand(list: FilledList): FilledList {
  return { ...list, pair: { ...list.pair, expand: [] } };
}

interface DeletedEffect {
  readonly effect: Effect;
  /** Whether it is refused with a 400 that names the parameter: only then an export continues without it. */
  readonly refusesDeletedByName: boolean;
}

async function probeDeleted(ask: AskList, lists: readonly FilledList[]): Promise<DeletedEffect> {
  for (const list of lists) {
    const before = list.answer;
    const withDeleted = await ask(withoutExpand(list), 100, [['include_deleted_records', 'true']]);
    const effect = judgeDeleted(before, withDeleted);
    // The same rule as in exports.
    const refusesDeletedByName =
      withDeleted.kind === 'refused' &&
      withDeleted.error.facts['status'] === 400 &&
      String(withDeleted.error.facts['answer']).includes('include_deleted');
    if (effect !== 'unknown') return { effect, refusesDeletedByName };
    if (withDeleted.kind !== 'answers' || before.totalCount === null) continue;
    if ((withDeleted.totalCount ?? 0) <= before.totalCount) continue;
    // Rules out a list that grew meanwhile.
    const again = await ask(withoutExpand(list), 1);
    if (again.kind === 'answers' && again.totalCount === before.totalCount) {
      return { effect: 'honoured', refusesDeletedByName };
    }
  }
  return { effect: 'unknown', refusesDeletedByName: false };
}

function effectOfFailure(answer: Exclude<ListAnswer, ListContent>): Effect {
  return answer.kind === 'refused' ? 'refused' : 'unknown';
}

/** Compares answers without and with `include_deleted_records`. */
export function judgeDeleted(before: ListContent, withDeleted: ListAnswer): Effect {
  if (withDeleted.kind !== 'answers') return effectOfFailure(withDeleted);
  if (before.records.some(({ deleted }) => deleted)) return 'always';
  return withDeleted.records.some(({ deleted }) => deleted) ? 'honoured' : 'unknown';
}

async function probeEq(askBare: AskBare, list: FilledList): Promise<Effect> {
  const keys = new Set(list.answer.records.map(({ platformId }) => platformId));
  const key = [...keys].find((one) => one !== null);
  if (key == null) return 'unknown';
  return judgeEq(key, keys.size > 1, await askBare(list, 'platform_id[eq]', key));
}

/** `others`: the list is known to hold other keys as well. */
export function judgeEq(key: string, others: boolean, answer: ListAnswer): Effect {
  if (answer.kind !== 'answers') return effectOfFailure(answer);
  if (answer.records.some(({ platformId }) => platformId !== key)) return 'ignored';
  return answer.records.length > 0 && others ? 'honoured' : 'unknown';
}

async function probeGte(askBare: AskBare, list: FilledList, fieldPrefix: string): Promise<Effect> {
  const after = (time: string) => askBare(list, `${fieldPrefix}updated_at[gte]`, time);
  const late = await after('2100-01-01T00:00:00.000Z');
  const isEmpty = late.kind === 'answers' && late.records.length === 0;
  return judgeGte(late, isEmpty ? await after('1970-01-01T00:00:00.000Z') : null);
}

/** For a list with records: `late` must return none, `early` must return some. */
export function judgeGte(late: ListAnswer, early: ListAnswer | null): Effect {
  if (late.kind !== 'answers') return effectOfFailure(late);
  if (late.records.length > 0) return 'ignored';
  return early?.kind === 'answers' && early.records.length > 0 ? 'honoured' : 'unknown';
}

async function probeSort(askBare: AskBare, list: FilledList, fieldPrefix: string): Promise<Effect> {
  const sorted = (direction: string) => askBare(list, `sort[${fieldPrefix}created_at]`, direction);
  return judgeSort(...(await Promise.all([sorted('ASC'), sorted('DESC')])));
}

/** Compares both directions; the same order in both means that the parameter is ignored. */
export function judgeSort(up: ListAnswer, down: ListAnswer): Effect {
  if (up.kind === 'refused' || down.kind === 'refused') return 'refused';
  if (up.kind !== 'answers' || down.kind !== 'answers') return 'unknown';
  const [rising, falling] = [datesOf(up), datesOf(down)];
  if (rising === null || falling === null || new Set([...rising, ...falling]).size < 2) return 'unknown';
  if (isRising(rising) && isRising([...falling].reverse())) return 'honoured';
  return up.records.every(({ svcId }, at) => svcId === down.records[at]?.svcId) ? 'ignored' : 'unknown';
}

/** Null if a record has no date. */
function datesOf({ records }: ListContent): readonly number[] | null {
  const dates = records.flatMap(({ createdMs }) => createdMs ?? []);
  return dates.length === records.length ? dates : null;
}

function isRising(dates: readonly number[]): boolean {
  return dates.every((ms, at) => at === 0 || ms >= (dates[at - 1] ?? ms));
}

async function probeSelect(askBare: AskBare, list: FilledList): Promise<Effect> {
  return judgeSelect(list.answer, await askBare(list, 'select', 'data_hash'));
}

/** Compares answers without and with `select=data_hash`. */
export function judgeSelect(before: ListContent, selected: ListAnswer): Effect {
  if (selected.kind !== 'answers') return effectOfFailure(selected);
  if (selected.records.length === 0) return 'unknown';
  if (before.records.some(({ hasHash }) => hasHash)) return 'always';
  return selected.records.some(({ hasHash }) => hasHash) ? 'honoured' : 'ignored';
}

/** What the effect of include_deleted_records means for an export. */
function judgeDeletedParameter(
  { effect, refusesDeletedByName }: DeletedEffect,
  includeDeleted: Config['v4']['includeDeleted'],
): Finding {
  const code = 'include_deleted_records';
  const text = `V4 include_deleted_records ${MEANINGS[effect]}`;
  if (effect === 'refused' && includeDeleted === true) {
    const fix = 'Set v4.includeDeleted to "auto" or false.';
    return problem('deleted_refused', 2, `${text}, and v4.includeDeleted is true.`, fix);
  }
  if (effect === 'refused' && includeDeleted === 'auto' && !refusesDeletedByName) {
    const why = 'without naming it, so an export would treat that as an error';
    return problem('deleted_refused', 2, `${text} ${why}.`, 'Set v4.includeDeleted to false.');
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
