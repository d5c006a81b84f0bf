import type { Config } from '../config/config.js';
import type { Scope } from '../store/remap.js';
import type { ListGroup } from '../store/report-rows.js';
import { sumOf } from '../text/rows.js';
import type { JudgedRemap } from './judge-database.js';
import type { Report } from './report-schema.js';

/** Something that the report cannot prove; `applies`: in this database. */
type Limitation = readonly [applies: boolean, code: string, name: string, text: string];

/** What a passed gate does not prove, given how the database was exported. */
export function listCannotSee(config: Config, scope: Scope, judgement: JudgedRemap): Report['cannotSee'] {
  return [
    ...whatReadingMissed(config, judgement),
    ...whatWasNotAsked(config, scope, judgement.lists),
    ...whatNoRunSees(config),
  ]
    .filter(([applies]) => applies)
    .map(([, code, name, text]) => ({ code, name, text }));
}

function whatReadingMissed({ v4 }: Config, { lists, exported, times }: JudgedRemap): Limitation[] {
  const isAsked = v4.includeDeleted !== false;
  const short = lists.filter(({ state }) => state === 'short');
  const absent = lists.filter(({ generation, state }) => generation === 'v3' && state === 'absent');
  const deletedIn = (wanted: string) =>
    sumOf(exported, ({ generation, deleted }) => (generation === wanted ? deleted : 0));
  return [
    [
      times.toppedUp > 0,
      'v3_vanished',
      'records that vanished from V3 without a tombstone',
      'V3 was topped up, not read again in full: a record that has vanished since then without a tombstone still counts as live. `svc-migrate export v3 --restart` reads V3 again in full.',
    ],
    [
      !isAsked,
      'v4_deleted_not_asked',
      'deletions in V4',
      'V4 was read without its deleted records: what V4 deleted looks unmatched.',
    ],
    [
      isAsked && deletedIn('v4') === 0 && deletedIn('v3') > 0,
      'v4_deleted_not_shown',
      'deletions in V4',
      'V4 was asked for deleted records and showed none, though V3 has some: it may not honour include_deleted_records, and then what it deleted looks unmatched.',
    ],
    [
      short.length > 0,
      'short_lists',
      'records that a list counts and does not show',
      `The service counts more records than it shows (${nameFirst(short.map(nameOfStream))}): what it did not show is not checked.`,
    ],
    [
      absent.length > 0,
      'absent_in_v3',
      'models that V3 answered 404 for',
      `V3 answered 404 for ${nameFirst(absent.map(nameOfStream))}: ids you may hold of it are not checked.`,
    ],
    [
      exported.some(({ rejected }) => rejected > 0),
      'rejected_objects',
      'rejected objects',
      'Rejected objects have no readable id or company: no row of the remap stands for them.',
    ],
  ];
}

function whatWasNotAsked(
  { companies, v3, v4, models, backfill }: Config,
  scope: Scope,
  lists: readonly ListGroup[],
): Limitation[] {
  const listed = [companies.include, companies.exclude, v3.companies, v4.companies].flat();
  const absent = lists.filter(({ generation, state }) => generation === 'v4' && state === 'absent');
  const guessed = models
    .filter((pair) => pair.v4Guessed && absent.some(({ model }) => model === pair.v3))
    .map((pair) => pair.v3);
  return [
    [
      scope.models != null || scope.companies != null || listed.length > 0,
      'narrowed_scope',
      'other models and companies',
      'Only some models or companies were selected: the others were not judged.',
    ],
    [
      guessed.length > 0,
      'guessed_model_names',
      'models under another V4 name',
      `V4 does not know the guessed names of ${nameFirst(guessed)}: the models may exist under another name.`,
    ],
    [
      backfill.sinceMs === null,
      'inferred_window',
      "whether the inferred start of V4's history is right",
      "Where V4's history starts is not configured: it was inferred from V4's own records, or left unknown. Set backfill.since to what the operator says.",
    ],
    [
      true,
      'nested_objects',
      'objects inside records without a configured field',
      'Objects inside records are mapped only where "children" of the model names their field and they have an id.',
    ],
  ];
}

function whatNoRunSees({ companies: { match } }: Config): Limitation[] {
  return [
    [
      true,
      'ghosts',
      'ghosts (V3 records whose source record is gone)',
      'Records that V3 still shows though their source deleted them long ago: they look unmatched, or like data that V4 did not load.',
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
      true,
      'contents',
      'whether the contents of paired records agree',
      'Ids are compared, not amounts or texts: `svc-migrate verify` shows fields that differ in a sample.',
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

/** `V3 accounting/invoices, region eu, company 5`. */
export function nameOfStream({
  generation,
  region,
  model,
  companyId = null,
}: Pick<ListGroup, 'generation' | 'region' | 'model'> & { readonly companyId?: string | null }): string {
  const place = region === '' ? '' : `, region ${region}`;
  const company = companyId === null ? '' : `, company ${companyId}`;
  return `${generation.toUpperCase()} ${model}${place}${company}`;
}

/** Lists or models that a sentence names. */
const MAX_NAMED = 3;

function nameFirst(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMED).join('; ');
  return names.length > MAX_NAMED ? `${shown}; and ${names.length - MAX_NAMED} more` : shown;
}
