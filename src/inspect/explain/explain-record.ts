import type { Config } from '../../config/config.js';
import { type Generation, isUnfinished } from '../../domain.js';
import { SvcError } from '../../errors.js';
import { damaged } from '../../store/checksum.js';
import { checkFile, verifyExcluded } from '../../store/integrity.js';
import type { Db } from '../../store/open.js';
import { nameOfList } from '../../store/planned-lists.js';
import { findIncomplete, isRemapStale, isStale, readReadiness } from '../../store/readiness.js';
import { assertDigests } from '../../store/remap-digest.js';
import { EVERYTHING } from '../../store/remap-rows.js';
import { type CompanyRow, readCompanyRows } from '../../store/remap-tables.js';
import {
  readChildFields,
  readExcludedPlaces,
  readParentRow,
  readRecordFields,
  readRejectedWith,
  readStoredChild,
  readStoredRecord,
  readStoryRows,
  type StoryRow,
} from '../../store/story-rows.js';
import { listStreams, type StreamRow } from '../../store/streams.js';
import { openVerifiedRemap, type VerifiedRemap } from '../../store/verified-remap.js';
import { describeAgreement, namedIds } from '../../text/describe-evidence.js';
import { countOf } from '../../text/numbers.js';
import * as z from '../../zod.js';
import type { ExportedObject } from './side-by-side.js';
import {
  buildStory,
  type CompanyPairing,
  type Explanation,
  type ListReading,
  parseRowEvidence,
  type Story,
} from './story.js';

/** The record to explain. */
export interface ExplainQuestion {
  readonly model: string;
  /** A V3 or V4 id; they overlap, so both are looked up. */
  readonly id: bigint;
  /** Null: records and children. */
  readonly path: string | null;
  readonly region: string | null;
  readonly companyId: bigint | null;
}

const MAX_STORIES = 20;

/**
 * Describes everything the database knows about an id. Reads only.
 *
 * @throws SvcError `incomplete` if there is no remap yet, `corrupt_database`
 */
export function explainRecord(db: Db, config: Config, question: ExplainQuestion): Explanation {
  const facts = readReadiness(db, config, EVERYTHING);
  if (facts.lastRun === undefined) {
    throw new SvcError('incomplete', 'There is no remap yet: nothing is known about any record.', {
      hint: 'Run `svc-migrate run`, or `svc-migrate remap` if both exports are complete.',
    });
  }
  assertDigests(db, ['company']);
  const source: StorySource = {
    db,
    remap: openVerifiedRemap(db),
    isCurrent: !isStale(facts.lastRun, facts.exportSeq),
    config,
    streams: listStreams(db),
  };
  const { model, path, id } = question;
  const found = findRows(source, question);
  const stories = found.slice(0, MAX_STORIES).map(({ row, takenFor }) => readStory(source, row, takenFor));
  return {
    model,
    path,
    id,
    stories,
    isCut: found.length > stories.length,
    unknown: stories.length > 0 ? [] : describeUnknown(source, question),
    warnings: findIncomplete(facts).map(({ text, next }) => `${text} (\`${next}\`)`),
    builtAt: facts.lastRun.built_at,
    isStale: isRemapStale(facts),
  };
}

/** Rows by V3 id, then by V4 id, without duplicates, each with the readings of the id that lead to it. */
function findRows({ db, remap }: StorySource, { id, ...rest }: ExplainQuestion) {
  const found = new Map<bigint, { row: StoryRow; takenFor: Generation[] }>();
  for (const by of ['v3', 'v4'] as const) {
    for (const row of readStoryRows(db, remap, { ...rest, by, value: id }, MAX_STORIES + 1)) {
      const known = found.get(row.row);
      if (known === undefined) found.set(row.row, { row, takenFor: [by] });
      else known.takenFor.push(by);
    }
  }
  return [...found.values()];
}

/** Possible reasons why nothing is known of an id: it was excluded, rejected, not read, or is in none of the lists. */
function describeUnknown({ db, config, streams }: StorySource, { model, id }: ExplainQuestion): string[] {
  checkFile(db, ['excluded', 'rejected'], () => {});
  verifyExcluded(db);
  const sentences: string[] = [];
  for (const { generation, region } of readExcludedPlaces(db, model, id)) {
    const side = `${generation.toUpperCase()}${region === '' ? '' : ` (${region})`}`;
    sentences.push(`${side} has it for a company that the configuration excludes: nothing of it was stored.`);
  }
  for (const { generation, company_id, reason } of readRejectedWith(db, model, String(id), 5)) {
    const object = `${generation.toUpperCase()} object${company_id === null ? '' : ` of company ${company_id}`}`;
    sentences.push(
      `A ${object} that holds this value could not be taken as a record (${reason}); see the table rejected.`,
    );
  }
  const open = streams.filter((stream) => stream.model === model && isUnfinished(stream)).length;
  if (open > 0) {
    const lists = countOf(open, `list of ${model} was`, `lists of ${model} were`);
    sentences.push(`${lists} not read in full: it may be in ${open === 1 ? 'that one' : 'one of them'}.`);
  }
  if (config.models.find(({ v3 }) => v3 === model)?.v4 === null) {
    sentences.push(`The configuration says that V4 has no ${model}: only V3 was read.`);
  }
  if (sentences.length === 0) {
    sentences.push(
      'Neither export holds it. It may be of another model or region, newer than the export, or vanished before V3 was read.',
    );
  }
  return sentences;
}

/** Where stories are read from. */
interface StorySource {
  readonly db: Db;
  readonly remap: VerifiedRemap;
  /** Whether the remap is up to date with the exports, so that every row has its stored records. */
  readonly isCurrent: boolean;
  readonly config: Config;
  readonly streams: readonly StreamRow[];
}

/** Everything known about a row that was found. */
function readStory(source: StorySource, row: StoryRow, takenFor: readonly Generation[]): Story {
  const { region, v3_company_id, v4_company_id } = row;
  const company = readCompanyRows(source.db).find((pair) =>
    v3_company_id === null
      ? pair.v4_company_id === v4_company_id
      : pair.region === region && pair.v3_company_id === v3_company_id,
  );
  // A row without a V3 record names no V3 company; the pair of its V4 company does.
  const place: Place = {
    row,
    parent: readParentRow(source.db, source.remap, row),
    region: region ?? company?.region ?? null,
    v3: v3_company_id ?? company?.v3_company_id ?? null,
    v4: v4_company_id,
  };
  const v3 = readSide(source, place, 'v3', row.v3_svc_id);
  const v4 = readSide(source, place, 'v4', row.v4_svc_id);
  const named = namedIds(parseRowEvidence(row.evidence)).flatMap(
    ({ side, svcId }) => readSide(source, place, side, svcId) ?? [],
  );
  const pairing = company === undefined ? null : describePairing(company);
  const parents = place.parent === null ? [] : [describeParent(place.parent)];
  const facts = { takenFor, row, v3, v4, named, lists: listsOf(source, place), company: pairing };
  return buildStory(facts, parents, source.config.fieldPrefix);
}

interface Place {
  readonly row: StoryRow;
  /** The row of the record that holds a child. */
  readonly parent: StoryRow | null;
  readonly region: string | null;
  readonly v3: bigint | null;
  readonly v4: bigint | null;
}

/** The object of one side; null if the export does not hold it. */
function readSide(
  { db, isCurrent, config }: StorySource,
  place: Place,
  generation: Generation,
  svcId: bigint | null,
): ExportedObject | null {
  const { model, path } = place.row;
  const companyId = place[generation];
  const holder = place.parent === null ? svcId : place.parent[`${generation}_svc_id`];
  if (svcId === null || holder === null || companyId === null) return null;
  const region = generation === 'v3' ? (place.region ?? '') : '';
  const record = readStoredRecord(db, { generation, model, region, companyId, svcId: holder });
  if (record === undefined) {
    if (isCurrent) throw damaged('A stored record');
    return null;
  }
  const child = path === '' ? null : readStoredChild(db, record.record_id, path, svcId);
  if (child === undefined) return null;
  const { platform_id, unique_id, deleted } = child ?? record;
  const times =
    child === null ? record : { updated_ms: null, latest_ms: null, latest_from: null, created_ms: null };
  return {
    generation,
    region,
    company_id: String(companyId),
    svc_id: String(svcId),
    parent_svc_id: child === null ? null : String(record.svc_id),
    platform_id,
    platform_unique_id: unique_id,
    deleted: deleted === 1n,
    updated: isoOf(times.updated_ms),
    latest: isoOf(times.latest_ms),
    latestFrom: times.latest_from,
    created: isoOf(times.created_ms),
    fields:
      child === null
        ? readRecordFields(db, record.record_id)
        : readChildFields(db, record.record_id, path, svcId, `${config.fieldPrefix}id`),
  };
}

function isoOf(ms: bigint | null): string | null {
  return ms === null ? null : new Date(Number(ms)).toISOString();
}

/** The lists that hold the two records, or would. */
function listsOf({ config, streams }: StorySource, { row, region, v3, v4 }: Place): ListReading[] {
  const { model } = row;
  const ofModel = streams.filter((stream) => stream.model === model);
  const inV3 = ofModel.filter(
    ({ generation, region: own, companyId }) =>
      generation === 'v3' &&
      (region === null || own === region) &&
      (companyId === null || v3 === null || companyId === v3),
  );
  const inV4 = ofModel.filter(({ generation, companyId }) => generation === 'v4' && companyId === v4);
  const found: ListReading[] = [...inV3, ...inV4].map((stream) => ({
    generation: stream.generation,
    name: `${stream.generation.toUpperCase()} ${nameOfList(stream)}`,
    state: stream.state,
    readAt: stream.readAt,
    note: stream.endNote,
  }));
  const isInV4 = config.models.some((pair) => pair.v3 === model && pair.v4 !== null);
  if (inV4.length > 0 || v4 === null || !isInV4) return found;
  const name = `V4 ${nameOfList({ region: '', model, companyId: v4 })}`;
  return [...found, { generation: 'v4', name, state: null, readAt: null, note: null }];
}

const candidatesSchema = z
  .array(z.record(z.string(), z.unknown()))
  // Notes of any other form hold no candidates.
  .catch([]);

function describePairing(row: CompanyRow): CompanyPairing {
  const known = candidatesSchema.parse(JSON.parse(row.note));
  const candidates = known.map((other) => {
    const isV3 = other['v4_company_id'] === undefined;
    const who = isV3 ? `V3 ${other['v3_company_id']} (${other['region']})` : `V4 ${other['v4_company_id']}`;
    const [agreeingKeys, comparableKeys] = [Number(other['agreeing_keys']), Number(other['comparable_keys'])];
    return `${who}: ${describeAgreement({ agreeingKeys, comparableKeys })}`;
  });
  const v4 = row.v4_company_id?.toString() ?? null;
  const twin = known.find((other) => v4 !== null && other['v4_company_id'] === v4);
  return {
    matchedBy: row.matched_by,
    v3: row.v3_company_id === null ? null : `${row.v3_company_id} (${row.region ?? ''})`,
    v4,
    sharedKeys: Number(row.shared_keys),
    comparableKeys: Number(twin?.['comparable_keys'] ?? row.shared_keys),
    agreeingKeys: Number(row.agreeing_keys),
    candidates,
  };
}

/** What became of the record that contains a child. */
function describeParent({ model, status, reason, platform_id, v3_svc_id, v4_svc_id }: StoryRow): string {
  const outcome = `${status}${reason === null ? '' : `/${reason}`}`;
  const id = v3_svc_id === null ? `V4 ${v4_svc_id}` : `V3 ${v3_svc_id}`;
  const twin = v3_svc_id === null || v4_svc_id === null ? '' : `, V4 ${v4_svc_id}`;
  return `${model} ${id}, platform_id ${platform_id ?? 'none'}: ${outcome}${twin}`;
}
