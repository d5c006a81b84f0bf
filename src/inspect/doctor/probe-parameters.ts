import { type AskList, sizeOf } from './ask-list.js';
import { NO_EXPAND } from './probe-names.js';
import type {
  ListAnswer,
  ListContent,
  ParameterEffect,
  ParameterEffects,
  ProbedList,
  SampledRecord,
} from './probe-results.js';

/** Records requested if only their order or number matters. */
const FEW = 10;
/** Most lists searched for deleted records. */
const MOST_LISTS = 5;
const LATE = '2100-01-01T00:00:00.000Z';
const EARLY = '1970-01-01T00:00:00.000Z';

/** A list that answered with records. */
interface FilledList extends ProbedList {
  readonly answer: ListContent;
}

/** Finds out how V4 treats parameters, by comparing its answers with and without them. */
export async function probeParameters(
  ask: AskList,
  fieldPrefix: string,
  v4: readonly ProbedList[],
  v3: readonly ProbedList[],
): Promise<ParameterEffects> {
  const longest = v4
    .filter(isFilled)
    .sort((a, b) => sizeOf(b.answer) - sizeOf(a.answer))
    .slice(0, MOST_LISTS);
  const [list] = longest;
  const effectIn = (own: FilledList | undefined, probe: (list: FilledList) => Promise<ParameterEffect>) =>
    own === undefined ? Promise.resolve('unknown' as const) : probe(own);
  const probeSelect = async (own: FilledList): Promise<ParameterEffect> =>
    judgeSelect(own.answer, await ask(plain(own), FEW, [['select', 'data_hash']]));
  const [deleted, eq, gte, sort, select, selectInV3] = await Promise.all([
    probeDeleted(ask, longest),
    effectIn(list, (own) => probeEq(ask, own)),
    effectIn(list, (own) => probeGte(ask, own, `${fieldPrefix}updated_at[gte]`)),
    effectIn(list, (own) => probeSort(ask, own, `sort[${fieldPrefix}created_at]`)),
    effectIn(list, probeSelect),
    effectIn(v3.find(isFilled), probeSelect),
  ]);
  return { ...deleted, eq, gte, sort, select, selectInV3 };
}

function isFilled(list: ProbedList): list is FilledList {
  return list.answer.kind === 'answers' && list.answer.records.length > 0;
}

function plain(list: FilledList): FilledList {
  return { ...list, pair: { ...list.pair, ...NO_EXPAND } };
}

async function probeDeleted(
  ask: AskList,
  lists: readonly FilledList[],
): Promise<Pick<ParameterEffects, 'include_deleted_records' | 'refusesDeletedByName'>> {
  for (const list of lists) {
    const before = list.answer;
    const withDeleted = await ask(plain(list), 100, [['include_deleted_records', 'true']]);
    const effect = judgeDeleted(before, withDeleted);
    // The same rule as in exports.
    const refusesDeletedByName =
      withDeleted.kind === 'refused' &&
      withDeleted.error.facts['status'] === 400 &&
      String(withDeleted.error.facts['answer']).includes('include_deleted');
    if (effect !== 'unknown') return { include_deleted_records: effect, refusesDeletedByName };
    if (withDeleted.kind !== 'answers' || before.totalCount === null) continue;
    if ((withDeleted.totalCount ?? 0) <= before.totalCount) continue;
    // Rules out a list that grew meanwhile.
    const again = await ask(plain(list), 1);
    if (again.kind === 'answers' && again.totalCount === before.totalCount) {
      return { include_deleted_records: 'honoured', refusesDeletedByName };
    }
  }
  return { include_deleted_records: 'unknown', refusesDeletedByName: false };
}

function effectWithout(answer: Exclude<ListAnswer, ListContent>): ParameterEffect {
  return answer.kind === 'refused' ? 'refused' : 'unknown';
}

export function judgeDeleted(before: ListContent, withDeleted: ListAnswer): ParameterEffect {
  if (withDeleted.kind !== 'answers') return effectWithout(withDeleted);
  if (before.records.some(({ deleted }) => deleted)) return 'always';
  return withDeleted.records.some(({ deleted }) => deleted) ? 'honoured' : 'unknown';
}

async function probeEq(ask: AskList, list: FilledList): Promise<ParameterEffect> {
  const keys = new Set(list.answer.records.map(({ platformId }) => platformId));
  const key = [...keys].find((one) => one !== null);
  if (key == null) return 'unknown';
  return judgeEq(key, keys.size > 1, await ask(plain(list), FEW, [['platform_id[eq]', key]]));
}

/** `others`: the list is known to hold other keys as well. */
export function judgeEq(key: string, others: boolean, answer: ListAnswer): ParameterEffect {
  if (answer.kind !== 'answers') return effectWithout(answer);
  if (answer.records.some(({ platformId }) => platformId !== key)) return 'ignored';
  return answer.records.length > 0 && others ? 'honoured' : 'unknown';
}

async function probeGte(ask: AskList, list: FilledList, name: string): Promise<ParameterEffect> {
  const late = await ask(plain(list), FEW, [[name, LATE]]);
  const isEmpty = late.kind === 'answers' && late.records.length === 0;
  return judgeGte(late, isEmpty ? await ask(plain(list), FEW, [[name, EARLY]]) : null);
}

/** For a list with records: `late` must return none, `early` must return some. */
export function judgeGte(late: ListAnswer, early: ListAnswer | null): ParameterEffect {
  if (late.kind !== 'answers') return effectWithout(late);
  if (late.records.length > 0) return 'ignored';
  return early?.kind === 'answers' && early.records.length > 0 ? 'honoured' : 'unknown';
}

async function probeSort(ask: AskList, list: FilledList, name: string): Promise<ParameterEffect> {
  const sorted = (direction: string) => ask(plain(list), FEW, [[name, direction]]);
  const [up, down] = await Promise.all([sorted('ASC'), sorted('DESC')]);
  return judgeSort(up, down);
}

/** Compares both directions; the same order in both means that the parameter is ignored. */
export function judgeSort(up: ListAnswer, down: ListAnswer): ParameterEffect {
  if (up.kind === 'refused' || down.kind === 'refused') return 'refused';
  if (up.kind !== 'answers' || down.kind !== 'answers') return 'unknown';
  const [rising, falling] = [datesOf(up.records), datesOf(down.records)];
  if (rising === null || falling === null || new Set([...rising, ...falling]).size < 2) return 'unknown';
  if (isRising(rising) && isRising([...falling].reverse())) return 'honoured';
  return up.records.every(({ svcId }, at) => svcId === down.records[at]?.svcId) ? 'ignored' : 'unknown';
}

/** Null if a record has no date. */
function datesOf(records: readonly SampledRecord[]): readonly number[] | null {
  const dates = records.flatMap(({ createdMs }) => createdMs ?? []);
  return dates.length === records.length ? dates : null;
}

function isRising(dates: readonly number[]): boolean {
  return dates.every((ms, at) => at === 0 || ms >= (dates[at - 1] ?? ms));
}

export function judgeSelect(before: ListContent, selected: ListAnswer): ParameterEffect {
  if (selected.kind !== 'answers') return effectWithout(selected);
  if (selected.records.length === 0) return 'unknown';
  if (before.records.some(({ dataHash }) => dataHash !== null)) return 'always';
  return selected.records.some(({ dataHash }) => dataHash !== null) ? 'honoured' : 'ignored';
}
