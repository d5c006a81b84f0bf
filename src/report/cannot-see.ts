import type { Config } from '../config/config.js';
import { nameOfList } from '../store/planned-lists.js';
import type { Scope } from '../store/remap-rows.js';
import type { StreamGroup } from '../store/scoped-streams.js';
import type { ListRow } from '../store/streams.js';
import { countOf, groupDigits } from '../text/numbers.js';
import type { Counts, DriftSection, Report } from './report-schema.js';

export interface ReadFacts {
  readonly config: Config;
  readonly scope: Scope;
  readonly groups: readonly StreamGroup[];
  /** The first lists with a disputed count, and the first that V3 does not have. */
  readonly short: readonly ListRow[];
  readonly absentInV3: readonly ListRow[];
  readonly drift: DriftSection;
  readonly totals: Counts;
  /** Number of deleted records in the lists of V3 and V4. */
  readonly deleted: { readonly v3: number; readonly v4: number };
}

/** What a passed gate does not prove, given how the database was exported. */
export function listCannotSee(facts: ReadFacts): Report['cannotSee'] {
  const all = [...whatReadingMissed(facts), ...whatWasNotAsked(facts), ...whatNoRunSees(facts)];
  return all.filter(([applies]) => applies).map(([, code, name, text]) => ({ code, name, text }));
}

/** Something that the report cannot prove; `applies`: in this database. */
type Limitation = readonly [applies: boolean, code: string, name: string, text: string];

function whatReadingMissed({ config, groups, totals, deleted, ...first }: ReadFacts): readonly Limitation[] {
  const isAsked = config.v4.includeDeleted !== false;
  const countOfLists = (isWanted: (group: StreamGroup) => boolean) =>
    groups.filter(isWanted).reduce((sum, { lists }) => sum + lists, 0);
  const short = countOfLists(({ state }) => state === 'short');
  const absent = countOfLists(({ generation, state }) => generation === 'v3' && state === 'absent');
  return [
    [
      groups.some(({ generation, swept }) => generation === 'v3' && swept > 0),
      'v3_vanished',
      'records that vanished from V3 without a tombstone',
      'V3 was topped up by sweeps: a record that vanished from V3 without a tombstone is still counted as live. `svc-migrate export v3 --restart` reads V3 again in full.',
    ],
    [
      !isAsked,
      'v4_deleted_not_asked',
      'deletions in V4',
      'V4 was read without its deleted records: what V4 deleted looks unmatched.',
    ],
    [
      isAsked && deleted.v4 === 0 && deleted.v3 > 0,
      'v4_deleted_not_shown',
      'deletions in V4',
      'V4 was asked for deleted records and showed none, though V3 has some: perhaps it does not honour include_deleted_records, and what it deleted looks unmatched.',
    ],
    [
      short > 0,
      'short_lists',
      'records that a list counts and does not show',
      `The service counts more records than it shows (${nameFirst(first.short.map(nameOfList), short)}): what it did not show is not checked.`,
    ],
    [
      absent > 0,
      'absent_in_v3',
      'models that V3 answered 404 for',
      `V3 answered 404 for ${nameFirst(first.absentInV3.map(nameOfList), absent)}: ids you may hold of it are not checked.`,
    ],
    [
      totals.rejected > 0,
      'rejected_objects',
      'rejected objects',
      'Rejected objects have no readable id or company: no row of the remap stands for them.',
    ],
  ];
}

function whatWasNotAsked({ config, scope, groups }: ReadFacts): readonly Limitation[] {
  const { include, exclude } = config.companies;
  const split = config.v3.companies === 'auto' ? [] : config.v3.companies;
  const listed = [include, exclude, split, config.v4.companies].flat();
  const absent = groups.filter(({ generation, state }) => generation === 'v4' && state === 'absent');
  const guessed = config.models
    .filter((pair) => pair.v4Guessed && absent.some(({ model }) => model === pair.v3))
    .map((pair) => pair.v3);
  return [
    [
      scope.models !== null || scope.companies !== null || listed.length > 0,
      'narrowed_scope',
      'other models and companies',
      'Only some models or companies were selected: the others were not judged.',
    ],
    [
      guessed.length > 0,
      'guessed_model_names',
      'models under another V4 name',
      `V4 does not know the guessed names of ${nameFirst(guessed, guessed.length)}: the models may exist under another name.`,
    ],
    [
      config.backfill.sinceMs === null,
      'inferred_window',
      "whether the inferred start of V4's history is right",
      "Where V4's history starts is not configured: it was inferred per company from V4's own records, or left unknown. Set backfill.since to what the operator says.",
    ],
    [
      true,
      'nested_objects',
      'objects inside records without a configured field',
      'Objects inside records are mapped only where "children" of the model names their field and they have an id.',
    ],
  ];
}

function whatNoRunSees({ config, drift }: ReadFacts): readonly Limitation[] {
  const { match } = config.companies;
  return [
    [
      true,
      'ghosts',
      'ghosts (V3 records whose source record is gone)',
      'Records that V3 still shows though their source deleted them long ago: they look unmatched, or like data V4 did not load.',
    ],
    [
      true,
      'shared_platform_id',
      'two source records that share an id',
      'Two source records that share a platform_id, one seen only by V3 and one only by V4: they look like one record.',
    ],
    [
      true,
      'after_the_export',
      'what changed after the export',
      'Records that appeared, changed or were deleted after the lists were read.',
    ],
    [
      drift.measured,
      'other_fields',
      'fields that only one side has',
      'Fields of a matched pair that only one side has, fields of children, and fields that drift.ignore names: they are not compared.',
    ],
    [
      !drift.measured,
      'drift_not_measured',
      'whether the contents of matched records agree',
      `Whether the fields of matched records agree (drift): only ${groupDigits(drift.compared)} of ${countOf(drift.pairs, 'pair')} had both payloads in the database when the remap was built.`,
    ],
    [
      match === 'same_id',
      'same_id_trusted',
      'companies paired wrongly by equal ids',
      'Companies were paired by equal ids because the configuration says so.',
    ],
    [
      typeof match === 'object',
      'file_trusted',
      'companies paired wrongly by your file',
      'Companies were paired by your file, which is trusted.',
    ],
  ];
}

/** Most lists or models that a sentence names. */
export const MAX_NAMED = 3;

function nameFirst(names: readonly string[], count: number): string {
  const shown = names.slice(0, MAX_NAMED).join('; ');
  return count > MAX_NAMED ? `${shown}; and ${count - MAX_NAMED} more` : shown;
}
