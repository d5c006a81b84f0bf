import type { Config } from '../../config/config.js';
import { DEFAULT_MODELS } from '../../config/defaults.js';
import type { ModelPair } from '../../domain.js';
import { suggest } from '../../text/suggest.js';
import { type AskList, sizeOf } from './ask-list.js';
import type { ProbedList } from './probe-results.js';

/** Overrides a pair for requests that need no expanded fields. */
export const NO_EXPAND = { expand: [] } as const;

/** Most names tried for a model that V4 does not know. */
const MOST_NAMES = 10;
/** Companies in which names are tried. */
const TRIED_COMPANIES = 2;

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
  const companies = [...records].sort(([, a], [, b]) => b - a).slice(0, TRIED_COMPANIES);
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
  return [...new Set(names)].filter((name) => name !== configured && !taken.has(name)).slice(0, MOST_NAMES);
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
