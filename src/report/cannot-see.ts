import type { Config } from '../config/config.js';
import { nameOfList } from '../store/readiness.js';
import type { Scope } from '../store/remap.js';
import type { StreamRow } from '../store/stream-row.js';
import { countOf, groupDigits } from '../text/numbers.js';
import type { Counts, Report } from './schema.js';
import type { DriftSection } from './section-schemas.js';

export interface SightFacts {
  readonly config: Config;
  readonly scope: Scope;
  readonly streams: readonly StreamRow[];
  readonly drift: DriftSection;
  readonly totals: Counts;
  /** Deleted records that V3 and V4 showed. */
  readonly deleted: { readonly v3: number; readonly v4: number };
}

type Blindness = Report['cannotSee'][number];

/** What a green gate does not prove, given how this database was filled. */
export function listCannotSee(facts: SightFacts): Blindness[] {
  return [...whatReadingMissed(facts), ...whatWasNotAsked(facts), ...whatNoRunSees(facts)];
}

function whatReadingMissed({ config, streams, totals, deleted }: SightFacts): Blindness[] {
  const found: Blindness[] = [];
  if (streams.some((stream) => stream.generation === 'v3' && stream.position.phase === 'sweep')) {
    found.push({
      code: 'v3_vanished',
      name: 'records that vanished from V3 without a tombstone',
      text: 'V3 was topped up by sweeps: a record that vanished from V3 without a tombstone is still counted as live. `svc-migrate export v3 --restart` reads it anew.',
    });
  }
  if (config.v4.includeDeleted === false) {
    found.push({
      code: 'v4_deleted_not_asked',
      name: 'deletions in V4',
      text: 'V4 was read without its deleted records: what V4 deleted looks unmatched.',
    });
  } else if (deleted.v4 === 0 && deleted.v3 > 0) {
    found.push({
      code: 'v4_deleted_not_shown',
      name: 'deletions in V4',
      text: 'V4 was asked for deleted records and showed none, though V3 has some: perhaps it does not honour include_deleted_records, and what it deleted looks unmatched.',
    });
  }
  found.push(...disputedLists(streams));
  if (totals.rejected > 0) {
    found.push({
      code: 'rejected_objects',
      name: 'rejected objects',
      text: 'Rejected objects have no readable id or company: no row of the remap stands for them.',
    });
  }
  return found;
}

function disputedLists(streams: readonly StreamRow[]): Blindness[] {
  const found: Blindness[] = [];
  const short = streams.filter((stream) => stream.state === 'short');
  if (short.length > 0) {
    const text = `The service counts more records than it shows (${few(short.map(nameOfList))}): what it did not show is not checked.`;
    found.push({ code: 'short_lists', name: 'records that a list counts and does not show', text });
  }
  const absent = streams.filter((stream) => stream.generation === 'v3' && stream.state === 'absent');
  if (absent.length > 0) {
    const text = `V3 answered 404 for ${few(absent.map(nameOfList))}: ids you may hold of it are not checked.`;
    found.push({ code: 'absent_in_v3', name: 'models that V3 answered 404 for', text });
  }
  return found;
}

function whatWasNotAsked({ config, scope, streams }: SightFacts): Blindness[] {
  const found: Blindness[] = [];
  const { include, exclude } = config.companies;
  const narrowed =
    scope.models !== null ||
    scope.companies !== null ||
    include.length + exclude.length + config.v3.companies.length + config.v4.companies.length > 0;
  if (narrowed) {
    found.push({
      code: 'narrowed_scope',
      name: 'other models and companies',
      text: 'Only some models or companies were looked at: nothing is said about the others.',
    });
  }
  const guessed = config.models.filter(
    (pair) =>
      pair.v4Guessed &&
      streams.some(
        (stream) => stream.generation === 'v4' && stream.model === pair.v3 && stream.state === 'absent',
      ),
  );
  if (guessed.length > 0) {
    found.push({
      code: 'guessed_model_names',
      name: 'models under another V4 name',
      text: `V4 does not know the guessed names of ${few(guessed.map((pair) => pair.v3))}: the models may exist under another name.`,
    });
  }
  if (config.drift.trustDataHash) {
    found.push({
      code: 'hash_trusted',
      name: 'differences between records with the same data_hash',
      text: 'drift.trustDataHash is set: matched records with equal data_hashes were not compared field by field.',
    });
  }
  if (config.backfill.sinceMs === null) {
    found.push({
      code: 'inferred_window',
      name: 'whether the inferred backfill window is right',
      text: "The backfill window is not configured: its start was inferred per company from V4's own records, or left unknown. Set backfill.since to what the operator says.",
    });
  }
  found.push({
    code: 'nested_objects',
    name: 'objects inside records without a configured field',
    text: 'Objects inside records are mapped only where "children" of the model names their field and they have an id.',
  });
  return found;
}

const oneSided: Blindness = {
  code: 'other_fields',
  name: 'fields that only one side has',
  text: 'Fields of a matched pair that only one side has, fields of children, and fields that drift.ignore names: they are not compared.',
};

function notCompared({ pairs, compared }: DriftSection): Blindness {
  return {
    code: 'drift_not_measured',
    name: 'whether the contents of matched records agree',
    text: `Whether the fields of matched records agree (drift): only ${groupDigits(compared)} of ${countOf(pairs, 'pair')} had both payloads in the database when the remap was built.`,
  };
}

function whatNoRunSees({ config, drift }: SightFacts): Blindness[] {
  const found: Blindness[] = [
    {
      code: 'ghosts',
      name: 'ghosts (V3 records whose source record is gone)',
      text: 'Records that V3 still shows though their source deleted them long ago: they look unmatched, or like data V4 did not load.',
    },
    {
      code: 'shared_platform_id',
      name: 'two source records that share an id',
      text: 'Two source records that share a platform_id, one seen only by V3 and one only by V4: they look like one record.',
    },
    {
      code: 'after_the_export',
      name: 'what changed after the export',
      text: 'Records that appeared, changed or were deleted after the lists were read.',
    },
    drift.measured ? oneSided : notCompared(drift),
  ];
  if (config.companies.match === 'same_id') {
    found.push({
      code: 'same_id_trusted',
      name: 'companies paired wrongly by equal ids',
      text: 'Companies were paired by equal ids because the configuration says so.',
    });
  } else if (typeof config.companies.match === 'object') {
    found.push({
      code: 'file_trusted',
      name: 'companies paired wrongly by your file',
      text: 'Companies were paired by your file: it is taken at its word.',
    });
  }
  return found;
}

function few(names: readonly string[]): string {
  const shown = names.slice(0, 3).join('; ');
  return names.length > 3 ? `${shown}; and ${names.length - 3} more` : shown;
}
