import type { Config } from '../../config/config.js';
import type { ModelPair } from '../../domain.js';
import { countOf, groupDigits } from '../../text/numbers.js';
import type { Answer, V3ListFacts, V4Facts, V4ListFacts } from './facts.js';
import { type Finding, note, ok, problem, warning } from './finding.js';
import { countRecords, firstFew, judgeAnswer, judgeTroubles } from './judge-lists.js';
import { missingModels } from './probe-v4.js';

/** Is V4 there, with companies and records, and does it know every model by its configured name? */
export function judgeV4Models(facts: V4Facts, config: Config): Finding[] {
  const { companies, asked, lists } = facts;
  if (companies === null) return [];
  if (companies.length === 0) {
    return [
      problem(
        'V4',
        'v4_no_companies',
        5,
        'V4 lists no company: no connection was copied yet.',
        'Ask the operator to copy the connections, then run doctor again.',
      ),
    ];
  }
  const findings = [describeCompanies(companies.length, asked.length)];
  if (facts.answersAnything) {
    findings.push(
      warning(
        'models',
        'answers_anything',
        'V4 answers 200 to a model that cannot exist: that it answers to a name proves nothing.',
        'Confirm the V4 names with the operator.',
      ),
    );
  }
  findings.push(
    ...judgeEmptiness(facts),
    ...judgeMissing(facts),
    ...judgeTroubles(
      'models',
      'v4_list_failed',
      lists.map(({ pair, answer }) => ({ name: pair.v4 ?? pair.v3, answer })),
    ),
  );
  findings.push(...judgeAnswering(facts, config.models));
  return findings;
}

function describeCompanies(companies: number, asked: number): Finding {
  const list = `V4 lists ${countOf(companies, 'company', 'companies')}`;
  if (asked === companies) return ok('V4', 'v4_companies', `${list}; each was asked for every model.`);
  return note(
    'V4',
    'v4_companies_sampled',
    `${list}; a sample of ${asked} was asked for every model.`,
    'Ask them all with svc-migrate doctor --all.',
  );
}

/** Every list read empty: there is nothing to compare with yet. */
function judgeEmptiness({ lists }: V4Facts): Finding[] {
  const answered = lists.flatMap(({ answer }) => (answer.kind === 'answers' ? [answer] : []));
  const records = countRecords(answered);
  if (answered.length === 0 && lists.some(({ answer }) => answer.kind === 'failed')) return [];
  if (answered.length > 0 && records > 0) {
    return [
      ok(
        'V4',
        'v4_records',
        `V4 holds ${countOf(records, 'record')} in ${countOf(answered.length, 'list')} asked.`,
      ),
    ];
  }
  if (answered.length === 0) return [];
  return [
    problem(
      'V4',
      'v4_empty',
      5,
      'V4 holds no record in any list asked: its first sync has not begun or not finished.',
      'Wait for it: svc-migrate export v4 --wait.',
    ),
  ];
}

function judgeMissing({ lists, asked, suggestions, answersAnything }: V4Facts): Finding[] {
  const missing = missingModels(lists);
  const isAll = missing.length > 1 && missing.length === new Set(lists.map(({ pair }) => pair.v3)).size;
  const isHopeless = [...suggestions.values()].every((names) => names.length === 0);
  if (isAll && isHopeless) {
    return [
      problem(
        'V4',
        'v4_no_models',
        5,
        `V4 answers 404 to every configured model of ${countOf(asked.length, 'company', 'companies')}.`,
        'Ask the operator whether V4 is ready for you, and how its data models are called.',
      ),
    ];
  }
  return missing.map((pair) => {
    const names = answersAnything ? [] : (suggestions.get(pair.v3) ?? []);
    const text = `V4 knows no model "${pair.v4}" for ${pair.v3}: 404 in ${asked.length === 1 ? 'the one company' : `all ${groupDigits(asked.length)} companies`} asked.`;
    return problem('models', 'model_unknown', 2, text, fixOf(pair, names));
  });
}

/**
 * Models that V3 has records of and V4 has none of, though it holds others: where V4 answers to any name, this is
 * how a wrong one looks.
 */
export function judgeHollow({ lists, answersAnything }: V4Facts, v3: readonly V3ListFacts[]): Finding[] {
  const countIn = (own: readonly { readonly answer: Answer }[]): number =>
    countRecords(own.flatMap(({ answer }) => (answer.kind === 'answers' ? [answer] : [])));
  if (countIn(lists) === 0) return [];
  const pairs = new Map(lists.map(({ pair }) => [pair.v3, pair]));
  return [...pairs.values()].flatMap((pair) => {
    const own = lists.filter((one) => one.pair.v3 === pair.v3);
    const inV3 = countIn(v3.filter((one) => one.pair.v3 === pair.v3));
    if (inV3 === 0 || countIn(own) > 0 || !own.every(({ answer }) => answer.kind === 'answers')) return [];
    const text = `"${pair.v4}": V4 holds no record of it in any company asked, V3 ${groupDigits(inV3)} of ${pair.v3}.`;
    const fix = `Check the name in "models", and whether the backfill has reached it.`;
    return [(answersAnything ? warning : note)('models', 'model_hollow', text, fix)];
  });
}

function fixOf({ v3 }: ModelPair, names: readonly string[]): string {
  const orNull = `or to null if V4 does not have it`;
  if (names.length === 0)
    return `Set "v4" of ${v3} in "models" to the name the operator gives you, ${orNull}.`;
  const quoted = names.map((name) => `"${name}"`).join(' or ');
  return `Set "v4" of ${v3} in "models" to ${quoted}, which V4 answers to (check that it is the same thing), ${orNull}.`;
}

/** The models that V4 answers for: those of all companies in one line, others by themselves. */
function judgeAnswering({ lists, asked }: V4Facts, models: readonly ModelPair[]): Finding[] {
  const findings: Finding[] = [];
  const everywhere: string[] = [];
  for (const pair of models) {
    if (pair.v4 === null) {
      findings.push(note('models', 'model_left_out', `${pair.v3}: V4 is said not to have it.`));
      continue;
    }
    const own = lists.filter((one) => one.pair.v3 === pair.v3);
    const answered = own.filter(({ answer }) => answer.kind === 'answers');
    const absent = own.filter(({ answer }) => answer.kind === 'absent').map(({ companyId }) => companyId);
    if (answered.length === asked.length) everywhere.push(`"${pair.v4}"`);
    else if (answered.length > 0 && absent.length > 0) {
      const where = `in ${countOf(absent.length, 'company', 'companies')} (${firstFew(absent.map(String))})`;
      const text = `"${pair.v4}": V4 answers in ${groupDigits(answered.length)} and 404 ${where}, where it counts as absent.`;
      findings.push(note('models', 'model_answers_partly', text));
    }
    findings.push(...firstOdd(`V4 ${pair.v4}`, answered));
  }
  if (everywhere.length === 0) return findings;
  const text = `V4 answers in every company asked to ${everywhere.join(', ')}.`;
  return [ok('models', 'models_answer', text), ...findings];
}

function firstOdd(name: string, lists: readonly V4ListFacts[]): readonly Finding[] {
  const odd = lists.map(({ answer }) => judgeAnswer('models', name, answer));
  return odd.find((findings) => findings.length > 0) ?? [];
}
