import type { Config } from '../../config/config.js';
import { DEFAULT_MODELS } from '../../config/settings.js';
import type { ModelPair } from '../../domain.js';
import { suggest } from '../../text/suggest.js';
import {
  type AskList,
  type ListAnswer,
  type ListContent,
  type ParameterEffect,
  type ParameterEffects,
  type ProbedList,
  type SampledRecord,
  sizeOf,
} from './probe-results.js';

/** Records requested if only their order or number matters. */
const FEW = 10;
/** Maximum number of lists searched for deleted records. */
const MAX_LISTS = 5;
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
    .slice(0, MAX_LISTS);
  const [list] = longest;
  const effectIn = (own: FilledList | undefined, probe: (list: FilledList) => Promise<ParameterEffect>) =>
    own === undefined ? Promise.resolve('unknown' as const) : probe(own);
  const probeSelect = async (own: FilledList): Promise<ParameterEffect> =>
    judgeSelect(own.answer, await ask(withoutExpand(own), FEW, [['select', 'data_hash']]));
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

function withoutExpand(list: FilledList): FilledList {
  return { ...list, pair: { ...list.pair, ...NO_EXPAND } };
}

async function probeDeleted(
  ask: AskList,
  lists: readonly FilledList[],
): Promise<Pick<ParameterEffects, 'include_deleted_records' | 'refusesDeletedByName'>> {
  for (const list of lists) {
    const before = list.answer;
    const withDeleted = await ask(withoutExpand(list), 100, [['include_deleted_records', 'true']]);
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
    const again = await ask(withoutExpand(list), 1);
    if (again.kind === 'answers' && again.totalCount === before.totalCount) {
      return { include_deleted_records: 'honoured', refusesDeletedByName };
    }
  }
  return { include_deleted_records: 'unknown', refusesDeletedByName: false };
}

function effectOfFailure(answer: Exclude<ListAnswer, ListContent>): ParameterEffect {
  return answer.kind === 'refused' ? 'refused' : 'unknown';
}

/** Compares answers without and with `include_deleted_records`. */
export function judgeDeleted(before: ListContent, withDeleted: ListAnswer): ParameterEffect {
  if (withDeleted.kind !== 'answers') return effectOfFailure(withDeleted);
  if (before.records.some(({ deleted }) => deleted)) return 'always';
  return withDeleted.records.some(({ deleted }) => deleted) ? 'honoured' : 'unknown';
}

async function probeEq(ask: AskList, list: FilledList): Promise<ParameterEffect> {
  const keys = new Set(list.answer.records.map(({ platformId }) => platformId));
  const key = [...keys].find((one) => one !== null);
  if (key == null) return 'unknown';
  return judgeEq(key, keys.size > 1, await ask(withoutExpand(list), FEW, [['platform_id[eq]', key]]));
}

/** `others`: the list is known to hold other keys as well. */
export function judgeEq(key: string, others: boolean, answer: ListAnswer): ParameterEffect {
  if (answer.kind !== 'answers') return effectOfFailure(answer);
  if (answer.records.some(({ platformId }) => platformId !== key)) return 'ignored';
  return answer.records.length > 0 && others ? 'honoured' : 'unknown';
}

async function probeGte(ask: AskList, list: FilledList, name: string): Promise<ParameterEffect> {
  const late = await ask(withoutExpand(list), FEW, [[name, LATE]]);
  const isEmpty = late.kind === 'answers' && late.records.length === 0;
  return judgeGte(late, isEmpty ? await ask(withoutExpand(list), FEW, [[name, EARLY]]) : null);
}

/** For a list with records: `late` must return none, `early` must return some. */
export function judgeGte(late: ListAnswer, early: ListAnswer | null): ParameterEffect {
  if (late.kind !== 'answers') return effectOfFailure(late);
  if (late.records.length > 0) return 'ignored';
  return early?.kind === 'answers' && early.records.length > 0 ? 'honoured' : 'unknown';
}

async function probeSort(ask: AskList, list: FilledList, name: string): Promise<ParameterEffect> {
  const sorted = (direction: string) => ask(withoutExpand(list), FEW, [[name, direction]]);
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

/** Compares answers without and with `select=data_hash`. */
export function judgeSelect(before: ListContent, selected: ListAnswer): ParameterEffect {
  if (selected.kind !== 'answers') return effectOfFailure(selected);
  if (selected.records.length === 0) return 'unknown';
  if (before.records.some(({ dataHash }) => dataHash !== null)) return 'always';
  return selected.records.some(({ dataHash }) => dataHash !== null) ? 'honoured' : 'ignored';
}

/** Overrides a pair for requests that need no expanded fields. */
export const NO_EXPAND = { expand: [] } as const;

const MAX_NAMES = 10;
/** Companies for which other names are tried. */
const MAX_TRIED_COMPANIES = 2;

/** Models that no requested company has. */
export function missingModels(lists: readonly ProbedList[]): readonly ModelPair[] {
  const found = new Set(lists.filter(({ answer }) => answer.kind !== 'absent').map(({ pair }) => pair.v3));
  const missing = lists.map(({ pair }) => pair).filter(({ v3 }) => !found.has(v3));
  return [...new Map(missing.map((pair) => [pair.v3, pair])).values()];
}

/** Tries other names for the models that V4 did not find, and returns those it answers to by V3 path. */
export async function probeNames(
  ask: AskList,
  config: Config,
  lists: readonly ProbedList[],
): Promise<Map<string, readonly string[]>> {
  const taken = new Set(config.models.flatMap(({ v4 }) => v4 ?? []));
  const records = new Map<bigint, number>();
  for (const { companyId, answer } of lists) {
    if (companyId !== null) records.set(companyId, (records.get(companyId) ?? 0) + sizeOf(answer));
  }
  const companies = [...records].sort(([, a], [, b]) => b - a).slice(0, MAX_TRIED_COMPANIES);
  const answersTo = async (pair: ModelPair, v4: string): Promise<boolean> => {
    const answers = await Promise.all(
      companies.map(([companyId]) => ask({ region: '', companyId, pair: { ...pair, ...NO_EXPAND, v4 } }, 1)),
    );
    return answers.some(({ kind }) => kind === 'answers');
  };
  const found = await Promise.all(
    missingModels(lists).map(async (pair) => {
      const names = nearNames(pair, taken);
      const answered = await Promise.all(names.map((name) => answersTo(pair, name)));
      return [pair.v3, names.filter((_, at) => answered[at])] as const;
    }),
  );
  return new Map(found);
}

/** V4 names that a model might have instead of the unknown one, likeliest first; `taken` are those of others. */
export function nearNames(pair: ModelPair, taken: ReadonlySet<string>): readonly string[] {
  const [category = '', model = ''] = pair.v3.split('/');
  const configured = pair.v4 ?? model;
  const usual = DEFAULT_MODELS.flatMap(({ v4 }) => v4 ?? []);
  const meant = suggest(configured, [...usual, model, `${category}_${model}`]);
  const names = [
    ...(meant === null ? [] : [meant]),
    plural(configured),
    singular(configured),
    model,
    `${singular(category)}_${model}`,
    `${category}_${model}`,
    singular(model),
    model.replaceAll('_', '-'),
    toCamelCase(model),
    `${singular(category)}-${model}`.replaceAll('_', '-'),
    toCamelCase(`${singular(category)}_${model}`),
  ];
  return [...new Set(names)].filter((name) => name !== configured && !taken.has(name)).slice(0, MAX_NAMES);
}

function singular(word: string): string {
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  return /[^s]s$/.test(word) ? word.slice(0, -1) : word;
}

function plural(word: string): string {
  if (word.endsWith('s')) return word;
  return word.endsWith('y') ? `${word.slice(0, -1)}ies` : `${word}s`;
}

function toCamelCase(word: string): string {
  return word.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}
