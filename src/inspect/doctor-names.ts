import type { Generation, ModelPair } from '../domain.js';
import { isNotFound } from '../errors.js';
import { type Finding, ok, problem, warning } from './finding.js';
import { askList, isPage, type ListAnswer, type RemoteFacts, type SampledList } from './sample-lists.js';

const IMPOSSIBLE_MODEL = 'svc_migrate_no_such_model';

export async function* checkNames(facts: RemoteFacts): AsyncGenerator<Finding> {
  const { models } = facts.config;
  const listsOf = ({ v3 }: ModelPair, generation: Generation) =>
    facts.lists.filter(({ pair, stream }) => stream.generation === generation && pair.v3 === v3);
  const answersOf = (pair: ModelPair, generation: Generation): ListAnswer[] =>
    listsOf(pair, generation).map(({ answer }) => answer);
  const inV4 = models.filter(({ v4 }) => v4 !== null);
  const [first] = inV4.flatMap((pair) => listsOf(pair, 'v4'));
  if (first === undefined) return;
  if (await answersTo(facts, [first], IMPOSSIBLE_MODEL)) {
    const text = 'V4 answers 200 to a model that cannot exist, so an answer to a name proves nothing.';
    yield warning('answers_anything', text, 'Confirm the V4 names with the operator.');
    return;
  }
  const answering = inV4.filter((pair) => answersOf(pair, 'v4').some(isPage));
  // Where V3 has no list at all, its address is wrong, and says nothing of a model.
  const v3Answers = models.some((pair) => answersOf(pair, 'v3').some(isPage));
  const nearNames = new Map<string, readonly string[]>();
  const unused: ModelPair[] = [];
  const undecided: ModelPair[] = [];
  for (const pair of inV4.filter((missing) => answersOf(missing, 'v4').every(isNotFound))) {
    const inV3 = answersOf(pair, 'v3');
    if (v3Answers && inV3.every(isNotFound)) {
      unused.push(pair);
      continue;
    }
    const names = await findNearNames(facts, pair, listsOf(pair, 'v4'));
    nearNames.set(pair.v3, names);
    // Other errors of V3 are reported; they do not show whether it has the model.
    if (names.length > 0 || inV3.some(isPage)) yield describeMissing(pair, names);
    else (inV3.every(isNotFound) ? unused : undecided).push(pair);
  }
  const used = models.filter((pair) => !unused.includes(pair));
  const value = proposeNames(used, nearNames);
  const isOther = unused.length > 0 || used.some(({ v4 }, index) => value[index]?.v4 !== v4);
  const isKnown = used.length > 0 && undecided.length === 0;
  const isNews = isKnown && (isOther || answering.some(({ v4Guessed }) => v4Guessed));
  const names = answering.map(({ v4 }) => `"${v4}"`).join(', ');
  const without = unused.map(({ v3 }) => v3).join(', ');
  const text = `V4 model names that answer: ${names || 'none'}.${without && ` Neither V3 nor V4 has ${without} (404).`}`;
  yield ok('models_answer', text, isNews ? { path: ['models'], value } : null);
}

function describeMissing({ v3, v4 }: ModelPair, names: readonly string[]): Finding {
  const to =
    names.length === 0
      ? 'the name that the operator gives you'
      : `${names.map((name) => `"${name}"`).join(' or ')}, which V4 has (check that it is the same model)`;
  const text = `V4 has no model "${v4}" for ${v3}: 404 in every sampled company.`;
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
    askList(api, { stream, pair: { ...pair, v4, expand: [] } }, [['limit', '1']]),
  );
  return (await Promise.all(answers)).some(isPage);
}

function nearNamesOf({ v3, v4 }: ModelPair): ReadonlySet<string> {
  const [category = '', model = ''] = v3.split('/');
  const plain = [model, `${singular(category)}_${model}`, `${category}_${model}`];
  const near = [plural(v4 ?? model), singular(v4 ?? model), singular(model), ...plain];
  const kebab = plain.map((name) => name.replaceAll('_', '-'));
  const camel = plain.map((name) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()));
  return new Set([...near, ...kebab, ...camel]);
}

function singular(word: string): string {
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  return /[^s]s$/.test(word) ? word.slice(0, -1) : word;
}

function plural(word: string): string {
  if (word.endsWith('s')) return word;
  return word.endsWith('y') ? `${word.slice(0, -1)}ies` : `${word}s`;
}
