import { DEFAULT_MODELS } from '../../config/defaults.js';
import type { ModelPair } from '../../domain.js';
import { suggest } from '../../text/suggest.js';

/** Names asked for in the place of one that V4 does not know. */
const MOST = 10;

/**
 * V4 names that a model might have instead of the one V4 does not know, likeliest first. `taken` are the names
 * of the other models.
 */
export function nearNames(pair: ModelPair, taken: ReadonlySet<string>): readonly string[] {
  const [category = '', model = ''] = pair.v3.split('/');
  const configured = pair.v4 ?? model;
  const usual = DEFAULT_MODELS.flatMap(({ v4 }) => (v4 === null ? [] : [v4]));
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
  return [...new Set(names)].filter((name) => name !== configured && !taken.has(name)).slice(0, MOST);
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
