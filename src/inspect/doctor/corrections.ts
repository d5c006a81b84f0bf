import type { DoctorFacts, ProbedV4, RemoteFacts } from './probe-results.js';

/** A setting that `doctor` would change. */
export interface Correction {
  /** Its path in the configuration; a model is named by its index. */
  readonly path: readonly (string | number)[];
  readonly value: string | number | boolean;
  /** What it was and why it changes, as one line. */
  readonly text: string;
  /** Set if the value stays the same: it was a guess, which is now confirmed. */
  readonly confirms?: true;
}

/** The settings that the answers of both APIs suggest, where they differ from the configuration. */
export function listCorrections({
  config,
  remote,
}: Pick<DoctorFacts, 'config' | 'remote'>): readonly Correction[] {
  return [
    ...correctAddresses(config, remote),
    ...correctNames(config, remote.v4),
    ...correctPages(config, remote),
    ...correctDeleted(config, remote.v4),
  ];
}

type Config = DoctorFacts['config'];

function correctAddresses(config: Config, { v3Addresses }: RemoteFacts): Correction[] {
  return config.v3.regions.flatMap(({ region, baseUrl }) => {
    const value = v3Addresses?.get(region);
    const path = ['v3', 'regions', region, 'baseUrl'];
    return value === undefined ? [] : [{ path, value, text: `${baseUrl} → ${value}, which answers` }];
  });
}

/**
 * Confirms guessed names that V4 answers to, and replaces names that it does not know by the only other one that it answers
 * to. Where several names answer for a model, or one for several models, a person must choose: a wrong list gives wrong ids.
 */
function correctNames({ models }: Config, v4: ProbedV4 | null): Correction[] {
  if (v4 === null || v4.answersAnything) return [];
  const taken = new Set(models.flatMap((pair) => (v4.suggestions.has(pair.v3) ? [] : (pair.v4 ?? []))));
  const isShared = (name: string) =>
    [...v4.suggestions.values()].filter((names) => names.includes(name)).length > 1;
  return models.flatMap((pair, at): Correction[] => {
    const path = ['models', at, 'v4'];
    const answers = v4.lists.some((list) => list.pair.v3 === pair.v3 && list.answer.kind === 'answers');
    if (pair.v4 !== null && answers) {
      return pair.v4Guessed
        ? [{ path, value: pair.v4, text: `${pair.v3} is ${pair.v4}, which answers`, confirms: true }]
        : [];
    }
    const [value, ...others] = v4.suggestions.get(pair.v3)?.filter((name) => !taken.has(name)) ?? [];
    if (value === undefined || others.length > 0 || isShared(value)) return [];
    return [
      { path, value, text: `${pair.v3}: ${pair.v4} → ${value}, which answers: check that it is the same` },
    ];
  });
}

/** Replaces page sizes by the largest that the service sends. */
function correctPages(config: Config, { pages }: RemoteFacts): Correction[] {
  return pages.flatMap(({ label, asked, largest: value }) => {
    if (value === null || value === 0 || value === asked) return [];
    const region = config.v3.regions.length > 1 ? label.slice('V3 '.length) : null;
    const v3 = region === null ? ['v3', 'pageSize'] : ['v3', 'regions', region, 'pageSize'];
    const path = label === 'V4' ? ['v4', 'pageSize'] : v3;
    return [{ path, value, text: `${label}: pages of ${asked} → ${value}, the most it sends` }];
  });
}

function correctDeleted({ v4: { includeDeleted } }: Config, v4: ProbedV4 | null): Correction[] {
  const effect = v4?.parameters.include_deleted_records ?? 'unknown';
  const path = ['v4', 'includeDeleted'];
  if (effect === 'refused' && includeDeleted !== false) {
    return [{ path, value: false, text: 'v4.includeDeleted → false: V4 refuses include_deleted_records' }];
  }
  if (effect !== 'honoured' || includeDeleted !== false) return [];
  return [{ path, value: true, text: 'v4.includeDeleted → true: V4 honours include_deleted_records' }];
}
