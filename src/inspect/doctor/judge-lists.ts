import type { Config } from '../../config/config.js';
import { countOf, groupDigits } from '../../text/numbers.js';
import { type Finding, note, ok, problem, warning } from './doctor-finding.js';
import { type ListAnswer, type ProbedList, type ProbedV4, sizeOf } from './probe-results.js';
import { missingModels } from './probe-v4.js';

type FailedAnswer = Extract<ListAnswer, { error: unknown }>;

const MAX_NAMES = 3;

/** Whether V3 has every model, and any records. */
export function* judgeV3Lists(
  lists: readonly ProbedList[],
  addresses: ReadonlyMap<string, string> = new Map(),
): Generator<Finding> {
  for (const region of new Set(lists.map((list) => list.region))) {
    const name = region === 'default' ? 'V3' : `V3 ${region}`;
    yield* judgeRegion(
      name,
      lists.filter((list) => list.region === region),
      addresses.get(region),
    );
  }
}

function* judgeRegion(name: string, lists: readonly ProbedList[], address?: string): Generator<Finding> {
  if (lists.every(({ answer }) => answer.kind === 'absent')) {
    const fix =
      address === undefined
        ? 'Check v3.regions.*.baseUrl: requests go to {baseUrl}/{category}/{model}.'
        : `Set its baseUrl to ${address}, which answers.`;
    yield problem('V3', 'v3_absent', 2, `${name} answers 404 to every model.`, fix);
    return;
  }
  const answered = lists.filter(hasAnswered).length;
  const records = countRecords(lists);
  if (records > 0) {
    const counts = `${countOf(answered, 'list')}: ${countOf(records, 'record')} by its counts`;
    yield ok('V3', 'v3_lists', `${name} answers for ${counts}.`);
  } else if (answered > 0) {
    const fix = 'Check that the address and the key are those of your organization.';
    yield warning('V3', 'v3_empty', `${name} shows no record at all.`, fix);
  }
  yield* judgeFailures('V3', 'v3_list_failed', lists);
  for (const { pair, answer } of lists) {
    yield* judgeContent('V3', `${name} ${pair.v3}`, answer);
    if (answer.kind !== 'absent') continue;
    const fix = 'Remove it from "models" if you do not use it; it counts as absent, not as empty.';
    yield warning('V3', 'v3_model_absent', `${name} does not have ${pair.v3} (404).`, fix);
  }
}

function hasAnswered({ answer }: ProbedList): boolean {
  return answer.kind === 'answers';
}

function countRecords(lists: readonly ProbedList[]): number {
  return lists.reduce((sum, { answer }) => sum + sizeOf(answer), 0);
}

function listNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(', ');
  return names.length > MAX_NAMES ? `${shown} and ${names.length - MAX_NAMES} more` : shown;
}

/** Failed requests, one finding for each kind: an export would fail on them too. */
function judgeFailures(area: 'V3' | 'models', code: string, lists: readonly ProbedList[]): Finding[] {
  const byKind = new Map<string, { readonly answer: FailedAnswer; readonly names: string[] }>();
  for (const { pair, answer } of lists) {
    if (answer.kind === 'answers' || answer.kind === 'absent') continue;
    const kind = `${answer.kind} ${answer.error.code}`;
    const group = byKind.get(kind) ?? { answer, names: [] };
    group.names.push(area === 'V3' ? pair.v3 : (pair.v4 ?? pair.v3));
    byKind.set(kind, group);
  }
  return [...byKind.values()].map(({ answer: { kind, error }, names }) => {
    const where = `${countOf(names.length, 'list')}: ${listNames([...new Set(names)])}`;
    const text = `${error.message.replace(/\.$/, '')}${names.length > 1 ? ` (${where})` : ''}.`;
    const { answer, request_id: id } = error.facts;
    if (kind === 'refused') {
      const fix = 'Check fieldPrefix, "expand" of the model in "models", and pageSize.';
      return problem(area, code, 2, answer === undefined ? text : `${text} It says: ${answer}`, fix);
    }
    if (error.exitCode === 2 || error.exitCode === 3) {
      return problem(area, code, error.exitCode, text, error.hint ?? 'Check the key.');
    }
    const report = id === undefined ? '' : `; if it persists, give the operator the request_id ${id}`;
    return problem(area, code, 4, text, `Run doctor again${report}.`);
  });
}

function* judgeContent(area: 'V3' | 'models', name: string, answer: ListAnswer): Generator<Finding> {
  if (answer.kind !== 'answers') return;
  const { missing, rejected, records } = answer;
  if (missing.length > 0) {
    const sample =
      records.length === 1
        ? 'the one record sampled does not carry'
        : `none of the ${groupDigits(records.length)} records sampled carries`;
    const text = `${name}: ${sample} ${missing.join(', ')}, though "expand" asks for it; others may.`;
    const fix = 'Children in it cannot be mapped: check "expand" and "children" in "models".';
    yield warning(area, 'expand_ignored', text, fix);
  }
  if (rejected === 0) return;
  if (records.length === 0) {
    const text = `${name}: no object of the sample can be taken as a record.`;
    const fix = 'Check fieldPrefix: ids are read from {fieldPrefix}id and {fieldPrefix}company_id.';
    yield problem(area, 'no_record_readable', 2, text, fix);
    return;
  }
  const are = rejected === 1 ? 'a record' : 'records';
  const text = `${name}: ${countOf(rejected, 'object')} of the sample cannot be taken as ${are}.`;
  const fix = `${rejected === 1 ? 'It' : 'They'} will be listed as rejected.`;
  yield warning(area, 'objects_rejected', text, fix);
}

/** Whether V4 has companies and records, and knows every model by its configured name. */
export function* judgeV4Models(v4: ProbedV4, config: Config): Generator<Finding> {
  const { companies, asked, lists } = v4;
  if (companies.length === 0) {
    const fix = 'Ask the operator to copy the connections, then run doctor again.';
    const text = 'V4 lists no company: no connection was copied yet.';
    yield problem('V4', 'v4_no_companies', 5, text, fix);
    return;
  }
  const listed = `V4 lists ${countOf(companies.length, 'company', 'companies')}`;
  if (asked.length === companies.length) {
    yield ok('V4', 'v4_companies', `${listed}; each was asked for every model.`);
  } else {
    const text = `${listed}; a sample of ${asked.length} was asked for every model.`;
    yield note('V4', 'v4_companies_sampled', text, 'Ask them all with svc-migrate doctor --all.');
  }
  if (v4.answersAnything) {
    const text = 'V4 answers 200 to a model that cannot exist, so an answer to a name proves nothing.';
    yield warning('models', 'answers_anything', text, 'Confirm the V4 names with the operator.');
  }
  const answered = lists.filter(hasAnswered).length;
  const records = countRecords(lists);
  if (records > 0) {
    const text = `V4 holds ${countOf(records, 'record')} in ${countOf(answered, 'list')} asked.`;
    yield ok('V4', 'v4_records', text);
  } else if (answered > 0) {
    const text =
      'V4 holds no record in any requested list: its first sync has not started or has not finished.';
    yield problem('V4', 'v4_empty', 5, text, 'Wait for it: svc-migrate export v4 --wait.');
  }
  yield* judgeMissing(v4);
  yield* judgeFailures('models', 'v4_list_failed', lists);
  yield* judgeAnswering(v4, config);
}

function* judgeMissing({ lists, asked, suggestions, answersAnything }: ProbedV4): Generator<Finding> {
  const missing = missingModels(lists);
  const isAll = missing.length > 1 && missing.length === new Set(lists.map(({ pair }) => pair.v3)).size;
  if (isAll && [...suggestions.values()].every((names) => names.length === 0)) {
    const of = countOf(asked.length, 'company', 'companies');
    const fix =
      'Ask the operator whether V4 is ready for you and what its data models are called; then write each name as "v4" in "models".';
    const text = `V4 answers 404 to every configured model of ${of}, and to other likely names.`;
    yield problem('V4', 'v4_no_models', 5, text, fix);
    return;
  }
  const where = asked.length === 1 ? 'the one company' : `all ${groupDigits(asked.length)} companies`;
  for (const { v3, v4 } of missing) {
    const names = answersAnything ? [] : (suggestions.get(v3) ?? []).map((name) => `"${name}"`);
    const to =
      names.length === 0
        ? 'the name the operator gives you'
        : `${names.join(' or ')}, which V4 answers to (check that it is the same thing)`;
    const text = `V4 knows no model "${v4}" for ${v3}: 404 in ${where} asked.`;
    const fix = `Set "v4" of ${v3} in "models" to ${to}, or to null if V4 does not have it.`;
    yield problem('models', 'model_unknown', 2, text, fix);
  }
}

/** The models that V4 answers for: one finding for those in all companies, one for each other. */
function judgeAnswering({ lists, asked }: ProbedV4, { models }: Config): Finding[] {
  const findings: Finding[] = [];
  const everywhere: string[] = [];
  for (const pair of models) {
    if (pair.v4 === null) {
      findings.push(
        note('models', 'model_left_out', `${pair.v3}: the configuration says that V4 does not have it.`),
      );
      continue;
    }
    const own = lists.filter((one) => one.pair.v3 === pair.v3);
    const answered = own.filter(hasAnswered);
    const absent = own.filter(({ answer }) => answer.kind === 'absent').map(({ companyId }) => companyId);
    if (answered.length === asked.length) everywhere.push(`"${pair.v4}"`);
    else if (answered.length > 0 && absent.length > 0) {
      const where = `in ${countOf(absent.length, 'company', 'companies')} (${listNames(absent.map(String))})`;
      const text = `"${pair.v4}": V4 answers in ${groupDigits(answered.length)} and 404 ${where}, where it counts as absent.`;
      findings.push(note('models', 'model_answers_partly', text));
    }
    // Reported for one company only.
    const odd = answered.map(({ answer }) => [...judgeContent('models', `V4 ${pair.v4}`, answer)]);
    findings.push(...(odd.find((one) => one.length > 0) ?? []));
  }
  if (everywhere.length === 0) return findings;
  const text = `In every company asked, V4 answers to ${everywhere.join(', ')}.`;
  return [ok('models', 'models_answer', text), ...findings];
}

/**
 * Models with records in V3 and none in V4, though V4 holds records of other models. If V4 answers to any name, this
 * is what a wrong name looks like.
 */
export function* judgeEmptyModels(v4: ProbedV4, v3: readonly ProbedList[]): Generator<Finding> {
  const { lists, answersAnything } = v4;
  if (countRecords(lists) === 0) return;
  for (const pair of new Map(lists.map((list) => [list.pair.v3, list.pair])).values()) {
    const own = lists.filter((one) => one.pair.v3 === pair.v3);
    const inV3 = countRecords(v3.filter((one) => one.pair.v3 === pair.v3));
    if (inV3 === 0 || countRecords(own) > 0 || !own.every(hasAnswered)) continue;
    const text = `"${pair.v4}": V4 holds no record of it in any company asked, but V3 holds ${groupDigits(inV3)} of ${pair.v3}.`;
    const fix = 'Check the name in "models", and whether the backfill has reached it.';
    yield (answersAnything ? warning : note)('models', 'model_hollow', text, fix);
  }
}
