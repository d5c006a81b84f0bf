import type { Config } from '../config/config.js';
import { nameOfList } from '../store/readiness.js';
import type { Scope } from '../store/remap.js';
import type { ListGroup } from '../store/report-rows.js';
import { listFirst } from '../text/numbers.js';
import type { JudgedRemap } from './gate.js';
import type { Report } from './report-schema.js';

/** Sentences by code; false: not in this database. */
type Limitations = Readonly<Record<string, string | false>>;

/** What a passed gate does not prove, given how the database was exported. */
export function listCannotSee(config: Config, scope: Scope, judgement: JudgedRemap): Report['cannotSee'] {
  const limitations: Limitations = {
    ...whatReadingMissed(config, judgement),
    ...whatWasNotAsked(config, scope, judgement.lists),
    ...WHAT_NO_RUN_SEES,
  };
  return Object.entries(limitations).flatMap(([code, text]) => (text === false ? [] : [{ code, text }]));
}

function whatReadingMissed({ v4 }: Config, { lists, exported, times }: JudgedRemap): Limitations {
  const isAsked = v4.includeDeleted !== false;
  const isDeletedShown =
    !exported.some((row) => row.v3Deleted > 0) || exported.some((row) => row.v4Deleted > 0);
  const short = lists.filter(({ state }) => state === 'short');
  const absent = lists.filter(({ generation, state }) => generation === 'v3' && state === 'absent');
  return {
    v3_vanished:
      times.toppedUp > 0 &&
      'V3 was topped up, not read again in full: a record that has vanished since then without a tombstone still counts as live. `svc-migrate export v3 --restart` reads V3 again in full.',
    v4_deleted_not_asked:
      !isAsked && 'V4 was read without its deleted records: what V4 deleted looks unmatched.',
    v4_deleted_not_shown:
      isAsked &&
      !isDeletedShown &&
      'V4 was asked for deleted records and showed none, though V3 has some: it may not honour include_deleted_records, and then what it deleted looks unmatched.',
    short_lists:
      short.length > 0 &&
      `The service counts more records than it shows (${nameFirst(short)}): what it did not show is not checked.`,
    absent_in_v3:
      absent.length > 0 &&
      `V3 answered 404 for ${nameFirst(absent)}: ids of it that were not read before are not checked.`,
    rejected_objects:
      exported.some(({ rejected }) => rejected > 0) &&
      'Rejected objects have no readable id or company: no row of the remap stands for them.',
  };
}

function whatWasNotAsked(
  { companies: { match, include, exclude }, v3, v4, models, backfill }: Config,
  scope: Scope,
  lists: readonly ListGroup[],
): Limitations {
  const { models: named = [], companies = [] } = scope;
  const listed = [include, exclude, v3.companies, v4.companies, companies, named].flat();
  const absent = lists.filter(({ generation, state }) => generation === 'v4' && state === 'absent');
  const guessed = models.filter((pair) => pair.v4Guessed && absent.some(({ model }) => model === pair.v3));
  return {
    narrowed_scope:
      listed.length > 0 && 'Only some models or companies were selected: the others were not judged.',
    guessed_model_names:
      guessed.length > 0 &&
      `V4 does not know the guessed names of ${listFirst(
        guessed.map((pair) => pair.v3),
        MAX_NAMED,
      )}: the models may exist under another name.`,
    inferred_window:
      backfill.sinceMs === null &&
      "Where V4's history starts is not configured: it was inferred from V4's own records, or left unknown. Set backfill.since to what the operator says.",
    same_id_trusted:
      match === 'same_id' && 'Companies were paired by equal ids because the configuration says so.',
    file_trusted: typeof match === 'object' && 'Companies were paired by your file, which is trusted.',
  };
}

const WHAT_NO_RUN_SEES: Limitations = {
  nested_objects:
    'Objects inside records are mapped only where "children" of the model names their field and they have an id.',
  ghosts:
    'Records that V3 still shows though their source deleted them long ago look unmatched, or like data that V4 did not load.',
  shared_platform_id:
    'Two source records that share a platform_id, one seen only by V3 and one only by V4, look like one record.',
  after_the_export: 'Records may have appeared, changed or been deleted after the lists were read.',
  contents:
    'Ids are compared, not amounts or texts: `svc-migrate verify` shows fields that differ in a sample.',
};

/** `V3 accounting/invoices in eu, company 5`. */
export function nameOfStream(list: Parameters<typeof nameOfList>[0] & Pick<ListGroup, 'generation'>): string {
  return `${list.generation.toUpperCase()} ${nameOfList(list)}`;
}

const MAX_NAMED = 3;

function nameFirst(lists: readonly ListGroup[]): string {
  return listFirst(lists.map(nameOfStream), MAX_NAMED, '; ');
}
