import type { Config } from '../../config/config.js';
import { DEFAULT_MODELS } from '../../config/settings.js';
import type { ModelPair } from '../../domain.js';
import { countOf, groupDigits } from '../../text/numbers.js';
import { suggest } from '../../text/suggest.js';
import {
  type Correction,
  type Finding,
  judgeContent,
  judgeFailures,
  listNames,
  note,
  ok,
  problem,
  type RemoteContext,
  warning,
} from './check.js';
import {
  type AskList,
  countRecords,
  hasAnswered,
  type SampledList,
  type SampledV4,
  sizeOf,
} from './sample-lists.js';

/** Whether V4 has companies and records. */
export function checkV4({ v4 }: Pick<RemoteContext, 'v4'>): Finding[] {
  const { companies, asked, lists, answered: isThere } = v4;
  if (!isThere) return [];
  if (companies.length === 0) {
    const fix = 'Ask the operator whether the connections were copied, then run doctor again.';
    const text = 'V4 lists no company.';
    return [problem('v4_no_companies', 5, text, fix)];
  }
  const listed = `V4 lists ${countOf(companies.length, 'company', 'companies')}`;
  const sampled = `${listed}; a sample of ${asked.length} was asked for every model.`;
  const findings: Finding[] = [
    asked.length === companies.length
      ? ok('v4_companies', `${listed}; each was asked for every model.`)
      : note('v4_companies_sampled', sampled),
  ];
  const answered = lists.filter(hasAnswered).length;
  const records = countRecords(lists);
  if (records > 0) {
    const text = `V4 counts ${countOf(records, 'record')} in ${countOf(answered, 'list')} asked, deleted ones left out.`;
    findings.push(ok('v4_records', text));
  } else if (answered > 0) {
    const text =
      'V4 holds no record in any requested list: its first sync has not started or has not finished.';
    findings.push(problem('v4_empty', 5, text, 'Wait for it: svc-migrate export v4 --wait.'));
  }
  return findings;
}

/** A model that no service has, with underscores as in real names. */
const IMPOSSIBLE_MODEL = 'svc_migrate_no_such_model';

/** Whether V4 knows every model by its configured name, and which other names it answers to. */
export async function checkModels({
  config,
  ask,
  v3,
  v4,
}: Pick<RemoteContext, 'config' | 'ask' | 'v3' | 'v4'>): Promise<Finding[]> {
  const { companies, asked, lists, answered } = v4;
  if (!answered || companies.length === 0) return [];
  const [one] = lists;
  const impossible = one && { ...one, pair: { ...one.pair, expand: [], v4: IMPOSSIBLE_MODEL } };
  const answersAnything = impossible !== undefined && (await ask(impossible, 1)).kind === 'answers';
  const suggestions = await probeNames(ask, config, lists);
  const anything = 'V4 answers 200 to a model that cannot exist, so an answer to a name proves nothing.';
  const corrections = answersAnything ? [] : correctNames(config, lists, suggestions);
  const found = `${countOf(corrections.length, 'V4 name')} can be written into the configuration.`;
  const write = 'Run `svc-migrate doctor --write-config FILE`.';
  const everywhere = config.models.filter(
    (pair) => listsOf(pair, v4).filter(hasAnswered).length === asked.length,
  );
  const names = everywhere.map((pair) => `"${pair.v4}"`).join(', ');
  const inV3 = v3.flatMap((host) => host.lists);
  return [
    ...(answersAnything
      ? [warning('answers_anything', anything, 'Confirm the V4 names with the operator.')]
      : []),
    ...judgeMissing(v4, answersAnything ? new Map() : suggestions),
    ...judgeFailures('v4_list_failed', lists, ({ pair }) => pair.v4 ?? pair.v3),
    ...(names === '' ? [] : [ok('models_answer', `In every company asked, V4 answers to ${names}.`)]),
    ...config.models.flatMap((pair) => judgeModel(pair, v4, inV3, answersAnything)),
    ...(corrections.length === 0 ? [] : [{ ...note('names_found', found, write), corrections }]),
  ];
}

function listsOf(pair: ModelPair, { lists }: SampledV4): SampledList[] {
  return lists.filter((list) => list.pair.v3 === pair.v3);
}

/** Names that V4 answers to, by the V3 path of the models that it did not find. */
type Suggestions = ReadonlyMap<string, readonly string[]>;

function judgeMissing({ lists, asked }: SampledV4, suggestions: Suggestions): Finding[] {
  const missing = missingModels(lists);
  const isAll =
    suggestions.size > 0 &&
    missing.length > 1 &&
    missing.length === new Set(lists.map(({ pair }) => pair.v3)).size;
  if (isAll && [...suggestions.values()].every((names) => names.length === 0)) {
    const of = countOf(asked.length, 'company', 'companies');
    const fix =
      'Ask the operator whether V4 is ready for you and what its data models are called; then write each name as "v4" in "models".';
    const text = `V4 answers 404 to every configured model of ${of}, and to other likely names.`;
    return [problem('v4_no_models', 5, text, fix)];
  }
  const where = asked.length === 1 ? 'the one company' : `all ${groupDigits(asked.length)} companies`;
  return missing.map(({ v3, v4 }) => {
    const names = (suggestions.get(v3) ?? []).map((name) => `"${name}"`);
    const to =
      names.length === 0
        ? 'the name the operator gives you'
        : `${names.join(' or ')}, which V4 answers to (check that it is the same thing)`;
    const text = `V4 knows no model "${v4}" for ${v3}: 404 in ${where} asked.`;
    const fix = `Set "v4" of ${v3} in "models" to ${to}, or to null if V4 does not have it.`;
    return problem('model_unknown', 2, text, fix);
  });
}

/** What is odd in V4's answers for a model that it knows. */
function judgeModel(
  pair: ModelPair,
  v4: SampledV4,
  inV3: readonly SampledList[],
  answersAnything: boolean,
): Finding[] {
  if (pair.v4 === null) {
    return [note('model_left_out', `${pair.v3}: the configuration says that V4 does not have it.`)];
  }
  const own = listsOf(pair, v4);
  const answered = own.filter(hasAnswered);
  const absent = own.flatMap(({ answer, companyId }) => (answer.kind === 'absent' ? String(companyId) : []));
  const findings: Finding[] = [];
  if (answered.length > 0 && absent.length > 0) {
    const where = `in ${countOf(absent.length, 'company', 'companies')} (${listNames(absent)})`;
    const text = `"${pair.v4}": V4 answers in ${groupDigits(answered.length)} and 404 ${where}, where it counts as absent.`;
    findings.push(note('model_answers_partly', text));
  }
  // Reported for one company only.
  const odd = answered.map(({ answer }) => judgeContent(`V4 ${pair.v4}`, answer));
  findings.push(...(odd.find((one) => one.length > 0) ?? []));
  // If V4 answers to any name, this is what a wrong name looks like.
  const records = countRecords(inV3.filter((list) => list.pair.v3 === pair.v3));
  const isHollow = countRecords(own) === 0 && answered.length === own.length && countRecords(v4.lists) > 0;
  if (isHollow && records > 0) {
    const text = `"${pair.v4}": V4 holds no record of it in any company asked, but V3 holds ${groupDigits(records)} of ${pair.v3}.`;
    const fix = 'Check the name in "models", and whether the backfill has reached it.';
    findings.push((answersAnything ? warning : note)('model_hollow', text, fix));
  }
  return findings;
}

/**
 * Confirms guessed names that V4 answers to, and replaces names that it does not know by the only other one that it answers
 * to. Where several names answer for a model, or one for several models, a person must choose: a wrong list gives wrong ids.
 */
export function correctNames(
  { models }: Pick<Config, 'models'>,
  lists: readonly SampledList[],
  suggestions: Suggestions,
): Correction[] {
  const taken = new Set(models.flatMap((pair) => (suggestions.has(pair.v3) ? [] : (pair.v4 ?? []))));
  const isShared = (name: string) =>
    [...suggestions.values()].filter((names) => names.includes(name)).length > 1;
  return models.flatMap((pair, at): Correction[] => {
    const path = ['models', at, 'v4'];
    const answers = lists.some((list) => list.pair.v3 === pair.v3 && hasAnswered(list));
    if (pair.v4 !== null && answers) {
      return pair.v4Guessed
        ? [{ path, value: pair.v4, text: `${pair.v3} is ${pair.v4}, which answers`, confirms: true }]
        : [];
    }
    const [value, ...others] = suggestions.get(pair.v3)?.filter((name) => !taken.has(name)) ?? [];
    if (value === undefined || others.length > 0 || isShared(value)) return [];
    return [
      { path, value, text: `${pair.v3}: ${pair.v4} → ${value}, which answers: check that it is the same` },
    ];
  });
}

const MAX_NAMES = 10;
/** Companies for which other names are tried. */
const MAX_TRIED_COMPANIES = 2;

/** Models that no requested company has. */
function missingModels(lists: readonly SampledList[]): readonly ModelPair[] {
  const found = new Set(lists.filter(({ answer }) => answer.kind !== 'absent').map(({ pair }) => pair.v3));
  const missing = lists.map(({ pair }) => pair).filter(({ v3 }) => !found.has(v3));
  return [...new Map(missing.map((pair) => [pair.v3, pair])).values()];
}

/** Tries other names for the models that V4 did not find. */
async function probeNames(ask: AskList, config: Config, lists: readonly SampledList[]): Promise<Suggestions> {
  const taken = new Set(config.models.flatMap(({ v4 }) => v4 ?? []));
  const records = new Map<bigint, number>();
  for (const { companyId, answer } of lists) {
    if (companyId !== null) records.set(companyId, (records.get(companyId) ?? 0) + sizeOf(answer));
  }
  const companies = [...records].sort(([, a], [, b]) => b - a).slice(0, MAX_TRIED_COMPANIES);
  const answersTo = async (pair: ModelPair, v4: string): Promise<boolean> => {
    const answers = await Promise.all(
      companies.map(([companyId]) => ask({ region: '', companyId, pair: { ...pair, expand: [], v4 } }, 1)),
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
function nearNames(pair: ModelPair, taken: ReadonlySet<string>): readonly string[] {
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
