import type { ColumnEvidence, Overlap } from './column-evidence.js';

/**
 * How sure a proposal is. `likely`: nearly every value is a V3 id of one model, and the name or the rarity of such
 * numbers says so too. `possible`: worth a look. `by_chance`: small numbers that are ids of anything. `v4`: rather V4
 * ids. `rewritten`: a run wrote it. `none`: nothing.
 */
export type Standing = 'likely' | 'possible' | 'by_chance' | 'v4' | 'rewritten' | 'none';

export interface Proposal {
  readonly evidence: ColumnEvidence;
  readonly standing: Standing;
  /** The model that fits best; null where none does. */
  readonly best: Overlap | null;
  /** Whether the column's name speaks for the model. */
  readonly isNamed: boolean;
}

/** From this share of known values on a column is proposed. */
const NEARLY_ALL = 0.9;
const MANY = 0.5;
const FEW_VALUES = 3;
/** So much above chance is more than chance. */
const CLEARLY = 0.25;

/** What to make of a column; pure. */
export function propose(evidence: ColumnEvidence): Proposal {
  const { seen, sample, overlaps } = evidence;
  const names = `${sample.column} ${sample.path ?? ''}`;
  const ranked = overlaps
    .map((overlap) => ({ overlap, isNamed: isNamedFor(names, overlap.model), share: overlap.v3 / seen }))
    .sort((a, b) => rank(b) - rank(a) || b.share - a.share || a.overlap.chance - b.overlap.chance);
  const [top, ...others] = ranked;
  if (top === undefined) return { evidence, standing: 'none', best: null, isNamed: false };
  const found = { evidence, best: top.overlap, isNamed: top.isNamed };
  if (sample.run !== null) return { ...found, standing: 'rewritten' };
  if (top.overlap.v4 / seen >= NEARLY_ALL && top.overlap.v4 > top.overlap.v3)
    return { ...found, standing: 'v4' };
  if (top.share < MANY) return { ...found, standing: 'none' };
  const isAlone = top.isNamed
    ? !others.some((one) => one.isNamed && one.share >= NEARLY_ALL)
    : top.overlap.chance <= MANY && !others.some((one) => one.share > top.share / 2);
  const isKeyOnly = sample.isKey && !top.isNamed;
  if (top.share >= NEARLY_ALL && isAlone && !isKeyOnly && seen >= FEW_VALUES)
    return { ...found, standing: 'likely' };
  if (top.isNamed || top.share - top.overlap.chance >= CLEARLY) return { ...found, standing: 'possible' };
  return { ...found, standing: 'by_chance' };
}

function rank({ isNamed, share }: { readonly isNamed: boolean; readonly share: number }): number {
  return (isNamed ? 2 : 0) + (share >= MANY ? 1 : 0);
}

/** Whether every word of the model's name is in the column's: `invoice_id`, `creditNoteId`. */
function isNamedFor(column: string, model: string): boolean {
  const words = new Set(wordsOf(column));
  const [, path] = model.split('#');
  const own = wordsOf(path ?? model.slice(model.indexOf('/') + 1));
  return own.length > 0 && own.every((word) => words.has(word));
}

/** Lower-case words, singular. */
function wordsOf(text: string): string[] {
  return text
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter((word) => word !== '')
    .map((word) => word.replace(/ies$/, 'y').replace(/([^s])s$/, '$1'));
}
