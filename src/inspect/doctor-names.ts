import type { Generation, ModelPair } from '../domain.js';
import { isNotFound, SvcError } from '../errors.js';
import { type Finding, ok, problem, warning } from './finding.js';
import { askList, type RemoteFacts, type SampledList } from './sample-lists.js';

const IMPOSSIBLE_MODEL = 'svc_migrate_no_such_model';

export async function* checkNames(facts: RemoteFacts): AsyncGenerator<Finding> {
  const { models } = facts.config;
  const listsOf = ({ v3 }: ModelPair, generation: Generation) =>
    facts.lists.filter(({ pair, stream }) => stream.generation === generation && pair.v3 === v3);
  const isAbsent = (pair: ModelPair, generation: Generation) =>
    listsOf(pair, generation).every(({ answer }) => isNotFound(answer));
  const isInV3 = (pair: ModelPair) => listsOf(pair, 'v3').some(({ answer }) => !(answer instanceof SvcError));
  const inV4 = models.filter(({ v4 }) => v4 !== null);
  const [first] = inV4.flatMap((pair) => listsOf(pair, 'v4'));
  if (first === undefined) return;
  if (await answersTo(facts, [first], IMPOSSIBLE_MODEL)) {
    const text = 'V4 answers 200 to a model that cannot exist, so an answer to a name proves nothing.';
    yield warning('answers_anything', text, 'Confirm the V4 names with the operator.');
    return;
  }
  const answering = inV4.filter((pair) =>
    listsOf(pair, 'v4').some(({ answer }) => !(answer instanceof SvcError)),
  );
  const nearNames = new Map<string, readonly string[]>();
  const unused: ModelPair[] = [];
  for (const pair of inV4.filter((missing) => isAbsent(missing, 'v4'))) {
    const names = await findNearNames(facts, pair, listsOf(pair, 'v4'));
    nearNames.set(pair.v3, names);
    // Other errors of V3 are reported; they do not show whether it has the model.
    if (names.length > 0 || isInV3(pair)) yield describeMissing(pair, names);
    else if (isAbsent(pair, 'v3')) unused.push(pair);
  }
  const used = models.filter((pair) => !unused.includes(pair));
  const value = proposeNames(used, nearNames);
  const isOther = unused.length > 0 || used.some(({ v4 }, index) => value[index]?.v4 !== v4);
  const isNews = used.length > 0 && (isOther || answering.some(({ v4Guessed }) => v4Guessed));
  const without = unused.map(({ v3 }) => v3).join(', ');
  const text = [
    `V4 answers to ${answering.map(({ v4 }) => `"${v4}"`).join(', ') || 'no configured name'}.`,
    ...(unused.length === 0 ? [] : [`Neither V3 nor V4 has ${without} (404).`]),
  ].join(' ');
  yield ok('models_answer', text, isNews ? { path: ['models'], value } : null);
}

function describeMissing({ v3, v4 }: ModelPair, names: readonly string[]): Finding {
  const to =
    names.length === 0
      ? 'the name that the operator gives you'
      : `${names.map((name) => `"${name}"`).join(' or ')}, which V4 answers to (check that it is the same thing)`;
  const text = `V4 knows no model "${v4}" for ${v3}: 404 in every company sampled.`;
  const fix = `Set "v4" of ${v3} in "models" to ${to}, or to null if V4 does not have it.`;
  return problem('model_unknown', 2, text, fix);
}

/**
 * The models, with the only other name that V4 answers to. Where several names answer for a model, or one for several
 * models, a person must choose: a wrong list gives wrong ids.
 */
function proposeNames(models: readonly ModelPair[], nearNames: ReadonlyMap<string, readonly string[]>) {
  const all = [...nearNames.values()].flat();
  return models.map(({ v3, v4, expand, children }) => {
    const [name, ...others] = nearNames.get(v3) ?? [];
    const isOnly =
      name !== undefined && others.length === 0 && all.filter((other) => other === name).length === 1;
    return { v3, v4: isOnly ? name : v4, expand, children };
  });
}

async function findNearNames(
  facts: RemoteFacts,
  pair: ModelPair,
  lists: readonly SampledList[],
): Promise<readonly string[]> {
  const taken = facts.config.models.map(({ v4 }) => v4);
  const names = [...nearNamesOf(pair)].filter((name) => !taken.includes(name));
  const answers = await Promise.all(names.map((name) => answersTo(facts, lists, name)));
  return names.filter((_, index) => answers[index]);
}

async function answersTo({ api }: RemoteFacts, lists: readonly SampledList[], v4: string): Promise<boolean> {
  const answers = lists.map(({ stream, pair }) =>
    askList(api, { stream, pair: { ...pair, v4 } }, [['limit', '1']]),
  );
  return (await Promise.all(answers)).some((answer) => !(answer instanceof SvcError));
}

function nearNamesOf({ v3, v4 }: ModelPair): ReadonlySet<string> {
  const [category = '', model = ''] = v3.split('/');
  const configured = v4 ?? model;
  const qualified = `${singular(category)}_${model}`;
  const plainNames = [model, qualified, `${category}_${model}`];
  const words = [plural(configured), singular(configured), singular(model), ...plainNames];
  return new Set([...words, ...plainNames.flatMap((name) => [toKebabCase(name), toCamelCase(name)])]);
}

function singular(word: string): string {
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  return /[^s]s$/.test(word) ? word.slice(0, -1) : word;
}

function plural(word: string): string {
  if (word.endsWith('s')) return word;
  return word.endsWith('y') ? `${word.slice(0, -1)}ies` : `${word}s`;
}

function toKebabCase(word: string): string {
  return word.replaceAll('_', '-');
}

function toCamelCase(word: string): string {
  return word.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}
