import type { Config } from '../config/config.js';
import type { Scope } from '../store/remap.js';
import type { Counts, Report, ReportStream } from './report-schema.js';

export interface SeenFacts {
  readonly config: Config;
  readonly scope: Scope;
  readonly streams: readonly ReportStream[];
  /** Whether an earlier walk of a V3 list was only topped up. */
  readonly isV3ToppedUp: boolean;
  readonly totals: Counts;
  /** Number of deleted records in the lists of V3 and V4. */
  readonly deleted: { readonly v3: number; readonly v4: number };
}

/** Something that the report cannot prove; `applies`: in this database. */
interface Limitation {
  readonly applies: boolean;
  readonly code: string;
  readonly name: string;
  readonly text: string;
}

/** What a passed gate does not prove, given how the database was exported. */
export function listCannotSee(facts: SeenFacts): Report['cannotSee'] {
  return [...whatReadingMissed(facts), ...whatWasNotAsked(facts), ...whatNoRunSees(facts.config)]
    .filter(({ applies }) => applies)
    .map(({ code, name, text }) => ({ code, name, text }));
}

function whatReadingMissed(facts: SeenFacts): Limitation[] {
  const { config, streams, totals, deleted } = facts;
  const isAsked = config.v4.includeDeleted !== false;
  const short = streams.filter(({ state }) => state === 'short');
  const absent = streams.filter(({ generation, state }) => generation === 'v3' && state === 'absent');
  return [
    {
      applies: facts.isV3ToppedUp,
      code: 'v3_vanished',
      name: 'records that vanished from V3 without a tombstone',
      text: 'V3 was topped up, not read again in full: a record that has vanished since then without a tombstone still counts as live. `svc-migrate export v3 --restart` reads V3 again in full.',
    },
    {
      applies: !isAsked,
      code: 'v4_deleted_not_asked',
      name: 'deletions in V4',
      text: 'V4 was read without its deleted records: what V4 deleted looks unmatched.',
    },
    {
      applies: isAsked && deleted.v4 === 0 && deleted.v3 > 0,
      code: 'v4_deleted_not_shown',
      name: 'deletions in V4',
      text: 'V4 was asked for deleted records and showed none, though V3 has some: it may not honour include_deleted_records, and then what it deleted looks unmatched.',
    },
    {
      applies: short.length > 0,
      code: 'short_lists',
      name: 'records that a list counts and does not show',
      text: `The service counts more records than it shows (${nameFirst(short.map(nameOfStream))}): what it did not show is not checked.`,
    },
    {
      applies: absent.length > 0,
      code: 'absent_in_v3',
      name: 'models that V3 answered 404 for',
      text: `V3 answered 404 for ${nameFirst(absent.map(nameOfStream))}: ids you may hold of it are not checked.`,
    },
    {
      applies: totals.rejected > 0,
      code: 'rejected_objects',
      name: 'rejected objects',
      text: 'Rejected objects have no readable id or company: no row of the remap stands for them.',
    },
  ];
}

function whatWasNotAsked({ config, scope, streams }: SeenFacts): Limitation[] {
  const { include, exclude } = config.companies;
  const listed = [include, exclude, config.v3.companies, config.v4.companies].flat();
  const absent = streams.filter(({ generation, state }) => generation === 'v4' && state === 'absent');
  const guessed = config.models
    .filter((pair) => pair.v4Guessed && absent.some(({ model }) => model === pair.v3))
    .map((pair) => pair.v3);
  return [
    {
      applies: scope.models != null || scope.companies != null || listed.length > 0,
      code: 'narrowed_scope',
      name: 'other models and companies',
      text: 'Only some models or companies were selected: the others were not judged.',
    },
    {
      applies: guessed.length > 0,
      code: 'guessed_model_names',
      name: 'models under another V4 name',
      text: `V4 does not know the guessed names of ${nameFirst(guessed)}: the models may exist under another name.`,
    },
    {
      applies: config.backfill.sinceMs === null,
      code: 'inferred_window',
      name: "whether the inferred start of V4's history is right",
      text: "Where V4's history starts is not configured: it was inferred from V4's own records, or left unknown. Set backfill.since to what the operator says.",
    },
    {
      applies: true,
      code: 'nested_objects',
      name: 'objects inside records without a configured field',
      text: 'Objects inside records are mapped only where "children" of the model names their field and they have an id.',
    },
  ];
}

function whatNoRunSees({ companies: { match } }: Config): Limitation[] {
  return [
    {
      applies: true,
      code: 'ghosts',
      name: 'ghosts (V3 records whose source record is gone)',
      text: 'Records that V3 still shows though their source deleted them long ago: they look unmatched, or like data that V4 did not load.',
    },
    {
      applies: true,
      code: 'shared_platform_id',
      name: 'two source records that share an id',
      text: 'Two source records that share a platform_id, one seen only by V3 and one only by V4: they look like one record.',
    },
    {
      applies: true,
      code: 'after_the_export',
      name: 'what changed after the export',
      text: 'Records that appeared, changed or were deleted after the lists were read.',
    },
    {
      applies: true,
      code: 'contents',
      name: 'whether the contents of paired records agree',
      text: 'Ids are compared, not amounts or texts: `svc-migrate verify` shows fields that differ in a sample.',
    },
    {
      applies: match === 'same_id',
      code: 'same_id_trusted',
      name: 'companies paired wrongly by equal ids',
      text: 'Companies were paired by equal ids because the configuration says so.',
    },
    {
      applies: typeof match === 'object',
      code: 'file_trusted',
      name: 'companies paired wrongly by your file',
      text: 'Companies were paired by your file, which is trusted.',
    },
  ];
}

/** `V3 accounting/invoices, region eu, company 5`. */
export function nameOfStream({
  generation,
  region,
  model,
  companyId,
}: Pick<ReportStream, 'generation' | 'region' | 'model'> & {
  readonly companyId: bigint | string | null;
}): string {
  const place = region === '' ? '' : `, region ${region}`;
  const company = companyId === null ? '' : `, company ${companyId}`;
  return `${generation.toUpperCase()} ${model}${place}${company}`;
}

/** Lists or models that a sentence names. */
const MAX_NAMED = 3;

/** The first few names, and the number of others. */
function nameFirst(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMED).join('; ');
  return names.length > MAX_NAMED ? `${shown}; and ${names.length - MAX_NAMED} more` : shown;
}
