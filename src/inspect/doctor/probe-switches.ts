import type { ModelPair } from '../../domain.js';
import type { Ask, Question } from './ask-list.js';
import type { Answer, Answers, SampledRecord, Switches, V3ListFacts, V4ListFacts, Verdict } from './facts.js';
import { v3Question } from './probe-v3.js';
import { v4Question } from './probe-v4.js';

/** Records asked for where only their order or number matters. */
const FEW = 10;
/** Lists in which deleted records are looked for. */
const MOST_LISTS = 5;
const LATE = '2100-01-01T00:00:00.000Z';
const EARLY = '1970-01-01T00:00:00.000Z';

/** A V4 list that answered with records. */
interface Bench {
  readonly pair: ModelPair;
  readonly companyId: bigint;
  readonly plain: Answers;
}

/** Finds out what V4 does with parameters, by comparing its answers with and without them. */
export async function probeSwitches(
  ask: Ask,
  config: Parameters<typeof v3Question>[0],
  lists: readonly V4ListFacts[],
  v3: readonly V3ListFacts[],
): Promise<Switches> {
  const benches = benchesOf(lists);
  const [first] = benches;
  const askV4 = ({ pair, companyId }: Bench, more: Question['parameters'], limit = FEW): Promise<Answer> =>
    ask(v4Question({ ...pair, expand: [] }, companyId, limit, more));
  const on = (probe: (bench: Bench) => Promise<Verdict>): Promise<Verdict> =>
    first === undefined ? Promise.resolve('unknown') : probe(first);
  const prefix = config.fieldPrefix;
  const [deleted, eq, gte, sort, select, selectInV3] = await Promise.all([
    probeDeleted(askV4, benches),
    on((bench) => probeEq(askV4, bench)),
    on((bench) => probeGte(askV4, bench, `${prefix}updated_at[gte]`)),
    on((bench) => probeSort(askV4, bench, `sort[${prefix}created_at]`)),
    on(async (bench) => judgeSelect(bench.plain, await askV4(bench, [['select', 'data_hash']]))),
    probeSelectInV3(ask, config, v3),
  ]);
  return { ...deleted, eq, gte, sort, select, selectInV3 };
}

type AskV4 = (bench: Bench, more: Question['parameters'], limit?: number) => Promise<Answer>;

/** Longest lists first. */
function benchesOf(lists: readonly V4ListFacts[]): readonly Bench[] {
  const sizeOf = ({ plain }: Bench): number => plain.totalCount ?? plain.records.length;
  return lists
    .flatMap(({ pair, companyId, answer }) =>
      answer.kind === 'answers' && answer.records.length > 0 ? [{ pair, companyId, plain: answer }] : [],
    )
    .sort((a, b) => sizeOf(b) - sizeOf(a))
    .slice(0, MOST_LISTS);
}

type Deleted = Pick<Switches, 'include_deleted_records' | 'refusesDeletedByName'>;

async function probeDeleted(ask: AskV4, benches: readonly Bench[]): Promise<Deleted> {
  for (const bench of benches) {
    const withThem = await ask(bench, [['include_deleted_records', 'true']], 100);
    const verdict = judgeDeleted(bench.plain, withThem);
    const refusesDeletedByName = isNamedRefusal(withThem);
    if (verdict !== 'unknown') return { include_deleted_records: verdict, refusesDeletedByName };
    if (!holdsMore(bench.plain, withThem)) continue;
    // A list that grows meanwhile would look the same.
    const again = await ask(bench, [], 1);
    if (again.kind === 'answers' && again.totalCount === bench.plain.totalCount) {
      return { include_deleted_records: 'honoured', refusesDeletedByName };
    }
  }
  return { include_deleted_records: 'unknown', refusesDeletedByName: false };
}

/** As the export judges it. */
function isNamedRefusal(answer: Answer): boolean {
  if (answer.kind !== 'refused' || answer.error.facts['status'] !== 400) return false;
  return String(answer.error.facts['answer']).includes('include_deleted');
}

export function judgeDeleted(plain: Answers, withThem: Answer): Verdict {
  if (withThem.kind !== 'answers') return withThem.kind === 'refused' ? 'refused' : 'unknown';
  if (plain.records.some(({ deleted }) => deleted)) return 'always';
  return withThem.records.some(({ deleted }) => deleted) ? 'honoured' : 'unknown';
}

function holdsMore(plain: Answers, withThem: Answer): boolean {
  if (withThem.kind !== 'answers' || plain.totalCount === null) return false;
  return withThem.totalCount !== null && withThem.totalCount > plain.totalCount;
}

async function probeEq(ask: AskV4, bench: Bench): Promise<Verdict> {
  const keys = new Set(bench.plain.records.map(({ platformId }) => platformId));
  const [key] = [...keys].filter((one) => one !== null);
  if (key == null) return 'unknown';
  return judgeEq(key, keys.size > 1, await ask(bench, [['platform_id[eq]', key]]));
}

/** `others`: the list is known to hold other keys as well. */
export function judgeEq(key: string, others: boolean, answer: Answer): Verdict {
  if (answer.kind !== 'answers') return answer.kind === 'refused' ? 'refused' : 'unknown';
  if (answer.records.some(({ platformId }) => platformId !== key)) return 'ignored';
  return answer.records.length > 0 && others ? 'honoured' : 'unknown';
}

async function probeGte(ask: AskV4, bench: Bench, name: string): Promise<Verdict> {
  const late = await ask(bench, [[name, LATE]]);
  if (late.kind !== 'answers' || late.records.length > 0) return judgeGte(late, null);
  return judgeGte(late, await ask(bench, [[name, EARLY]]));
}

/** Of a list with records: `late` must show none of them, `early` must show some. */
export function judgeGte(late: Answer, early: Answer | null): Verdict {
  if (late.kind !== 'answers') return late.kind === 'refused' ? 'refused' : 'unknown';
  if (late.records.length > 0) return 'ignored';
  return early?.kind === 'answers' && early.records.length > 0 ? 'honoured' : 'unknown';
}

async function probeSort(ask: AskV4, bench: Bench, name: string): Promise<Verdict> {
  const [up, down] = await Promise.all([ask(bench, [[name, 'ASC']]), ask(bench, [[name, 'DESC']])]);
  return judgeSort(up, down);
}

/** The two ends of one list; the same order both ways is no order. */
export function judgeSort(up: Answer, down: Answer): Verdict {
  if (up.kind === 'refused' || down.kind === 'refused') return 'refused';
  if (up.kind !== 'answers' || down.kind !== 'answers') return 'unknown';
  const [rising, falling] = [datesOf(up.records), datesOf(down.records)];
  if (rising === null || falling === null || new Set([...rising, ...falling]).size < 2) return 'unknown';
  if (isRising(rising) && isRising([...falling].reverse())) return 'honoured';
  return up.records.every(({ svcId }, at) => svcId === down.records[at]?.svcId) ? 'ignored' : 'unknown';
}

function datesOf(records: readonly SampledRecord[]): readonly number[] | null {
  const dates = records.map(({ createdMs }) => createdMs).filter((ms) => ms !== null);
  return dates.length === records.length ? dates : null;
}

function isRising(dates: readonly number[]): boolean {
  return dates.every((ms, at) => at === 0 || ms >= (dates[at - 1] ?? ms));
}

export function judgeSelect(plain: Answers, selected: Answer): Verdict {
  if (selected.kind !== 'answers') return selected.kind === 'refused' ? 'refused' : 'unknown';
  if (selected.records.length === 0) return 'unknown';
  if (plain.records.some(({ dataHash }) => dataHash !== null)) return 'always';
  return selected.records.some(({ dataHash }) => dataHash !== null) ? 'honoured' : 'ignored';
}

async function probeSelectInV3(
  ask: Ask,
  config: Parameters<typeof v3Question>[0],
  lists: readonly V3ListFacts[],
): Promise<Verdict> {
  for (const { region, pair, answer } of lists) {
    if (answer.kind !== 'answers' || answer.records.length === 0) continue;
    const question = v3Question(config, region, { ...pair, expand: [] }, FEW);
    const parameters = [...question.parameters, ['select', 'data_hash'] as const];
    return judgeSelect(answer, await ask({ ...question, parameters }));
  }
  return 'unknown';
}
