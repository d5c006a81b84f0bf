import { describeCompany } from '../api/company-list.js';
import { DEFAULT_MODELS } from '../config/settings.js';
import type { ModelPair } from '../domain.js';
import { isNotFound } from '../errors.js';
import { at } from '../text/at.js';
import { escapeUnseen } from '../text/escape.js';
import { countOf, groupDigits } from '../text/numbers.js';
import { suggest } from '../text/suggest.js';
import { judgeList, reportError } from './doctor-hosts.js';
import type { Findings } from './finding.js';
import {
  askList,
  hasAnswered,
  longestOf,
  type RemoteFacts,
  type SampledList,
  sizeOf,
} from './sample-lists.js';

export function checkCompanies({ config, samples }: RemoteFacts, findings: Findings): void {
  const { companyList, companies, v4, hasV4Key } = samples;
  if (!hasV4Key) return;
  if (companyList === null) {
    findings.ok(
      'v4_companies_named',
      `v4.companies names ${countOf(companies.length, 'company', 'companies')}.`,
    );
  } else if (companyList.kind !== 'answers') {
    const { error } = companyList;
    if (error.exitCode === 3) return;
    if (isNotFound(error)) {
      const fix = 'Check v4.baseUrl, or ask the operator whether V4 is switched on for you.';
      findings.problem('v4_absent', 2, `${config.v4.baseUrl} answers 404 to V4's list of companies.`, fix);
    } else reportError('v4_company_list', error, findings);
    return;
  } else if (companies.length === 0) {
    const fix = 'Ask the operator whether the connections were copied.';
    findings.problem('v4_no_companies', 5, 'V4 lists no company.', fix);
    return;
  } else {
    const { idField, fields } = describeCompany(at(companyList.page.companies, 0), {
      ...config,
      ...config.v4,
    });
    const more = companyList.page.next === null ? '' : ' on the first page';
    const text = `V4 lists ${countOf(companies.length, 'company', 'companies')}${more}, with the ids in ${idField}; fields seen: ${escapeUnseen(fields.join(', '))}.`;
    findings.ok('v4_companies', text);
  }
  const answered = v4.filter(hasAnswered).length;
  const records = v4.reduce((sum, list) => sum + sizeOf(list), 0);
  if (records > 0) {
    findings.ok(
      'v4_records',
      `V4 counts ${countOf(records, 'record')} in ${countOf(answered, 'list')} sampled.`,
    );
  } else if (answered > 0) {
    const text =
      'V4 holds no record in any sampled list: its first sync has not started or has not finished.';
    findings.problem('v4_empty', 5, text, 'Wait for it: svc-migrate export v4 --wait.');
  }
}

export function checkModels({ config, samples }: RemoteFacts, findings: Findings): void {
  const { v4 } = samples;
  for (const { v3, v4: name } of config.models) {
    if (name === null) {
      findings.note('model_left_out', `${v3}: the configuration says that V4 does not have it.`);
      continue;
    }
    const lists = v4.filter(({ pair }) => pair.v3 === v3);
    const odd =
      lists.find(({ answer }) => answer.kind === 'refused' || answer.kind === 'failed') ??
      lists.find(hasAnswered);
    if (odd !== undefined) judgeList('V4', odd, name, findings);
    const answered = lists.filter(hasAnswered).length;
    const absent = lists.filter(({ answer }) => answer.kind === 'absent').length;
    if (answered > 0 && absent > 0) {
      const text = `"${name}": V4 answers 404 in ${absent} of ${countOf(lists.length, 'company', 'companies')} sampled, where it counts as absent.`;
      findings.note('model_answers_partly', text);
    }
  }
}

/** A model that no service has. */
const IMPOSSIBLE_MODEL = 'svc_migrate_no_such_model';

/** Whether V4 knows the models by their configured names, and which near names it answers to. */
export async function checkNames(facts: RemoteFacts, findings: Findings): Promise<void> {
  const { config, samples } = facts;
  const [first] = samples.v4;
  if (first === undefined) return;
  if (await answersTo(facts, [first], first.pair, IMPOSSIBLE_MODEL)) {
    const text = 'V4 answers 200 to a model that cannot exist, so an answer to a name proves nothing.';
    findings.warning('answers_anything', text, 'Confirm the V4 names with the operator.');
    return;
  }
  const inV4 = config.models.filter(({ v4 }) => v4 !== null);
  const isAbsent = ({ v3 }: ModelPair) =>
    samples.v4.filter(({ pair }) => pair.v3 === v3).every(({ answer }) => answer.kind === 'absent');
  const missing = inV4.filter(isAbsent);
  const answering = inV4.filter(({ v3 }) =>
    samples.v4.some((list) => list.pair.v3 === v3 && hasAnswered(list)),
  );
  if (answering.length > 0) {
    findings.ok('models_answer', `V4 answers to ${answering.map(({ v4 }) => `"${v4}"`).join(', ')}.`);
  }
  const nearNames = new Map<string, readonly string[]>();
  for (const pair of missing) nearNames.set(pair.v3, await findNearNames(facts, pair));
  if (missing.length > 1 && missing.length === inV4.length && [...nearNames.values()].flat().length === 0) {
    const text = 'V4 answers 404 to every configured model, and to other likely names.';
    const fix = 'Ask the operator whether V4 is ready for you, and for the names of its data models.';
    findings.problem('v4_no_models', 5, text, fix);
    return;
  }
  for (const pair of missing) reportMissing(pair, nearNames.get(pair.v3) ?? [], findings);
  proposeNames(facts, answering, nearNames, findings);
}

function reportMissing({ v3, v4 }: ModelPair, names: readonly string[], findings: Findings): void {
  const to =
    names.length === 0
      ? 'the name that the operator gives you'
      : `${names.map((name) => `"${name}"`).join(' or ')}, which V4 answers to (check that it is the same thing)`;
  const text = `V4 knows no model "${v4}" for ${v3}: 404 in every company sampled.`;
  findings.problem(
    'model_unknown',
    2,
    text,
    `Set "v4" of ${v3} in "models" to ${to}, or to null if V4 does not have it.`,
  );
}

/**
 * Proposes the models with confirmed names, and the only other name that V4 answers to for others. Where several names answer
 * for a model, or one for several models, a person must choose: a wrong list gives wrong ids.
 */
function proposeNames(
  { config }: RemoteFacts,
  answering: readonly ModelPair[],
  nearNames: ReadonlyMap<string, readonly string[]>,
  findings: Findings,
): void {
  const all = [...nearNames.values()].flat();
  const nameOf = ({ v3, v4 }: ModelPair): string | null => {
    const [name, ...others] = nearNames.get(v3) ?? [];
    const isOnly =
      name !== undefined && others.length === 0 && all.filter((other) => other === name).length === 1;
    return isOnly ? name : v4;
  };
  const isChanged = config.models.some((pair) => nameOf(pair) !== pair.v4);
  const isConfirmed = answering.some(({ v4Guessed }) => v4Guessed);
  if (!isChanged && !isConfirmed) return;
  const models = config.models.map((pair) => {
    const { v3, expand, children } = pair;
    return { v3, v4: nameOf(pair), expand, children };
  });
  findings.correct(['models'], models);
}

/** Companies in which other names are tried: those with the most records. */
const MAX_TRIED_COMPANIES = 2;
const MAX_NAMES = 10;

async function findNearNames(facts: RemoteFacts, pair: ModelPair): Promise<readonly string[]> {
  const { config, samples } = facts;
  const taken = new Set(config.models.flatMap(({ v4 }) => v4 ?? []));
  const lists = companiesBySize(samples.v4).slice(0, MAX_TRIED_COMPANIES);
  const names = nearNamesOf(pair, taken);
  const answers = await Promise.all(names.map((name) => answersTo(facts, lists, pair, name)));
  return names.filter((_, index) => answers[index]);
}

/** One list of each company; companies with the most records first. */
function companiesBySize(lists: readonly SampledList[]): SampledList[] {
  const sizes = new Map<bigint | null, number>();
  for (const list of lists) {
    const { companyId } = list.stream;
    sizes.set(companyId, (sizes.get(companyId) ?? 0) + sizeOf(list));
  }
  const sizeOfCompany = ({ stream }: SampledList) => sizes.get(stream.companyId) ?? 0;
  const first = lists.filter(
    (list, index) => lists.findIndex(({ stream }) => stream.companyId === list.stream.companyId) === index,
  );
  return first.sort((a, b) => sizeOfCompany(b) - sizeOfCompany(a));
}

async function answersTo(
  { api }: RemoteFacts,
  lists: readonly SampledList[],
  pair: ModelPair,
  v4: string,
): Promise<boolean> {
  const asked = lists.map(({ stream }) => askList(api, { stream, pair: { ...pair, v4 } }, [['limit', '1']]));
  return (await Promise.all(asked)).some(({ kind }) => kind === 'answers');
}

/** V4 names that a model might have instead, likeliest first; `taken` are the names of other models. */
function nearNamesOf({ v3, v4 }: ModelPair, taken: ReadonlySet<string>): readonly string[] {
  const [category = '', model = ''] = v3.split('/');
  const configured = v4 ?? model;
  const usual = DEFAULT_MODELS.flatMap((pair) => pair.v4 ?? []);
  const names = [
    suggest(configured, [...usual, model, `${category}_${model}`]) ?? model,
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
    toCamelCase(`${category}_${model}`),
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

const DELETED: readonly [string, string] = ['include_deleted_records', 'true'];

export async function checkDeleted({ config, api, samples }: RemoteFacts, findings: Findings): Promise<void> {
  const list = longestOf(samples.v4);
  if (list?.answer.kind !== 'answers') return;
  const { includeDeleted } = config.v4;
  const before = list.answer.page;
  const answer = await askList(api, list, [['limit', '100'], DELETED]);
  if (answer.kind === 'refused') {
    const text = `V4 refuses include_deleted_records: ${answer.error.message}`;
    if (includeDeleted !== false) findings.correct(['v4', 'includeDeleted'], false);
    // As an export with "auto", which goes on without the parameter where the answer names it.
    const goesOn =
      includeDeleted !== true && String(answer.error.facts['answer']).includes('include_deleted');
    const fix = 'Set v4.includeDeleted to false; what was deleted in V4 will count as missing.';
    if (includeDeleted === false || goesOn) findings.note('deleted_refused', text, fix);
    else findings.problem('deleted_refused', 2, text, fix);
    return;
  }
  if (answer.kind !== 'answers') return;
  const showsDeleted = answer.page.records.some(({ deleted }) => deleted);
  const isMore = (answer.page.totalCount ?? 0) > (before.totalCount ?? Number.POSITIVE_INFINITY);
  if (before.records.some(({ deleted }) => deleted)) {
    findings.ok('deleted_always', 'V4 always shows deleted records.');
  } else if (!showsDeleted && !isMore) {
    const text = `V4 takes include_deleted_records; ${groupDigits(answer.page.records.length)} sampled records hold no deleted one.`;
    findings.note('deleted_unknown', text);
  } else if (includeDeleted === false) {
    findings.warning(
      'deleted_left_out',
      'V4 shows deleted records, but v4.includeDeleted is false: they will count as missing.',
      'Set it to "auto".',
    );
    findings.correct(['v4', 'includeDeleted'], 'auto');
  } else findings.ok('deleted_shown', 'V4 shows deleted records with include_deleted_records.');
}
