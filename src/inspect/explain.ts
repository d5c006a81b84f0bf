import { decodeBody } from '../api/body.js';
import { pageFormat } from '../api/pages.js';
import { findRecordInPage, type RecordMembers } from '../api/single-record.js';
import type { Config } from '../config/config.js';
import { type Generation, isUnfinished, type ModelPair } from '../domain.js';
import { SvcError } from '../errors.js';
import { describeOutcome } from '../reasons.js';
import { idsInEvidence, toFinding } from '../store/findings.js';
import { findIncomplete, nameOfList, readReadiness } from '../store/readiness.js';
import type { Db } from '../store/sqlite.js';
import {
  type CompanyPairing,
  readCompanyPairing,
  readRejectedWith,
  readStoredSide,
  readStoryRows,
  type StoryQuestion,
  type StoryRow,
} from '../store/story-rows.js';
import { listStreams, type StreamRow } from '../store/streams.js';
import { must } from '../text/at.js';
import { countOf } from '../text/numbers.js';
import { buildFieldLines, type FieldLine } from './side-by-side.js';

export interface Story {
  /** The generations whose ids lead to the row. */
  readonly takenFor: readonly Generation[];
  readonly row: ReturnType<typeof toFinding>;
  readonly title: string;
  readonly sentence: string;
  readonly next: string;
  readonly company: CompanyPairing | null;
  readonly parent: { readonly v3_svc_id: bigint | null; readonly v4_svc_id: bigint | null } | null;
  readonly fields: readonly FieldLine[];
  readonly named: readonly NamedRecord[];
  readonly lists: readonly ListReading[];
}

export interface NamedRecord {
  readonly generation: Generation;
  readonly svc_id: string;
  readonly members: RecordMembers;
}

export interface ListReading {
  readonly generation: Generation;
  readonly name: string;
  /** Null: it was never requested. */
  readonly state: StreamRow['state'] | null;
  readonly readAt: string | null;
  readonly note: string | null;
}

export interface Explanation {
  readonly schemaVersion: 1;
  readonly model: string;
  readonly id: string;
  readonly remapBuiltAt: string;
  readonly stale: boolean;
  readonly warnings: readonly string[];
  /** Whether there are more rows than these. */
  readonly more: boolean;
  /** Why nothing may be known. */
  readonly unknown: readonly string[];
  readonly stories: readonly Story[];
}

const MAX_STORIES = 20;

/**
 * Describes everything that the database knows of an id. Reads only.
 *
 * @throws SvcError `incomplete` if there is no remap, `usage` if several regions have the id and none is named
 */
export function explainRecord(db: Db, config: Config, question: StoryQuestion): Explanation {
  const facts = readReadiness(db, config);
  if (facts.run === null) {
    throw new SvcError('incomplete', 'There is no remap yet: nothing is known of any record.', {
      hint: 'Run `svc-migrate run`, or `svc-migrate remap` if both exports are complete.',
    });
  }
  const rows = readStoryRows(db, question, MAX_STORIES + 1);
  assertOneRegion(rows, question);
  const streams = listStreams(db);
  return {
    schemaVersion: 1,
    model: question.model,
    id: String(question.id),
    remapBuiltAt: facts.run.builtAt,
    stale: facts.changes.length > 0,
    warnings: findIncomplete(facts).map(({ text, next }) => `${text} (\`${next}\`)`),
    more: rows.length > MAX_STORIES,
    unknown: rows.length > 0 ? [] : describeUnknown(db, config, streams, question),
    stories: rows.slice(0, MAX_STORIES).map((row) => buildStory(db, config, streams, question, row)),
  };
}

function assertOneRegion(rows: readonly StoryRow[], { region, id, model }: StoryQuestion): void {
  const regions = new Set(rows.flatMap((row) => (row.v3_svc_id === id ? (row.region ?? []) : [])));
  if (region !== null || regions.size < 2) return;
  throw new SvcError('usage', `V3 id ${id} of ${model} exists in the regions ${[...regions].join(', ')}.`, {
    hint: 'Name one with --region.',
  });
}

function describeUnknown(
  db: Db,
  config: Config,
  streams: readonly StreamRow[],
  { model, id }: StoryQuestion,
): string[] {
  const sentences = readRejectedWith(db, model, String(id), 5).map(({ generation, company_id, reason }) => {
    const object = `${generation.toUpperCase()} object${company_id === null ? '' : ` of company ${company_id}`}`;
    return `A ${object} that holds this value could not be taken as a record (${reason}): see the table rejected.`;
  });
  const open = streams.filter((stream) => stream.model === model && isUnfinished(stream)).length;
  if (open > 0) {
    const lists = countOf(open, `list of ${model} was`, `lists of ${model} were`);
    sentences.push(
      `${lists} not read to the end: the record may be in ${open === 1 ? 'it' : 'one of them'}.`,
    );
  }
  if (config.models.find(({ v3 }) => v3 === model)?.v4 === null) {
    sentences.push(`The configuration says that V4 has no ${model}: only V3 was read.`);
  }
  if (sentences.length > 0) return sentences;
  return [
    'Neither export holds it. It may belong to another model, region or company, or be newer than the export.',
  ];
}

function buildStory(
  db: Db,
  config: Config,
  streams: readonly StreamRow[],
  { id }: StoryQuestion,
  row: StoryRow,
): Story {
  const { title, meaning, action } = describeOutcome(row.status, row.reason);
  const pair = must(
    config.models.find(({ v3 }) => v3 === row.model),
    `model ${row.model}`,
  );
  const company = readCompanyPairing(db, row) ?? null;
  const v3Place = {
    region: row.region ?? company?.region ?? null,
    companyId: row.v3_company_id ?? company?.v3_company_id ?? null,
  };
  const read = (generation: Generation, svcId: bigint | null) =>
    readMembers(db, config, pair, row, { ...v3Place, generation, svcId });
  const names = ['v3_svc_ids', 'merged_v3_svc_ids', 'live_v3_svc_ids', 'v4_svc_ids', 'live_v4_svc_ids'];
  const named = names.flatMap((name) =>
    idsInEvidence(row.evidence, name).flatMap((svcId): NamedRecord[] => {
      const generation = name.includes('v3') ? 'v3' : 'v4';
      const members = svcId === row[`${generation}_svc_id`] ? null : read(generation, svcId);
      return members === null ? [] : [{ generation, svc_id: String(svcId), members }];
    }),
  );
  return {
    takenFor: [
      ...(row.v3_svc_id === id ? (['v3'] as const) : []),
      ...(row.v4_svc_id === id ? (['v4'] as const) : []),
    ],
    row: toFinding(row),
    title,
    sentence: meaning,
    next: action,
    company,
    parent: row.path === '' ? null : { v3_svc_id: row.parent_v3_svc_id, v4_svc_id: row.parent_v4_svc_id },
    fields: buildFieldLines(read('v3', row.v3_svc_id), read('v4', row.v4_svc_id), config.fieldPrefix),
    named,
    lists: listsOf(streams, pair, row, v3Place),
  };
}

interface SidePlace {
  readonly generation: Generation;
  readonly region: string | null;
  readonly companyId: bigint | null;
  readonly svcId: bigint | null;
}

/** The members of a stored record or child; null if the export does not hold it. */
function readMembers(
  db: Db,
  config: Config,
  pair: ModelPair,
  row: StoryRow,
  side: SidePlace,
): RecordMembers | null {
  const { generation, svcId } = side;
  const isChild = row.path !== '';
  const holder = isChild ? row[`parent_${generation}_svc_id`] : svcId;
  const companyId = generation === 'v3' ? side.companyId : row.v4_company_id;
  const region = generation === 'v3' ? side.region : '';
  if (svcId === null || holder === null || companyId === null || region === null) return null;
  const stored = readStoredSide(db, { generation, region, model: row.model, companyId, svcId: holder });
  if (stored === undefined) return null;
  const { body, encoding } = stored;
  const idField = `${config.fieldPrefix}id`;
  if (body === null || encoding === null) {
    if (isChild) return null;
    const { platform_id, unique_id: platform_unique_id, deleted } = stored;
    return { [idField]: svcId, platform_id, platform_unique_id, deleted: deleted === 1n };
  }
  const record = findRecordInPage(decodeBody(body, encoding), pageFormat(config, generation, pair), holder);
  return record !== null && isChild ? findChild(record[row.path], idField, svcId) : record;
}

function findChild(list: unknown, idField: string, svcId: bigint): RecordMembers | null {
  const items: readonly unknown[] = Array.isArray(list) ? list : [];
  return items.filter(isMembers).find((item) => String(item[idField]) === String(svcId)) ?? null;
}

function isMembers(value: unknown): value is RecordMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The lists that hold the two records, or would. */
function listsOf(
  streams: readonly StreamRow[],
  { v3: model, v4 }: ModelPair,
  row: StoryRow,
  { region, companyId }: Pick<SidePlace, 'region' | 'companyId'>,
): ListReading[] {
  const ofModel = streams.filter((stream) => stream.model === model);
  const isIn = (id: bigint | null, stream: StreamRow) =>
    id === null || stream.companyId === null || stream.companyId === id;
  const inV3 = ofModel.filter(
    (stream) =>
      stream.generation === 'v3' && (region === null || stream.region === region) && isIn(companyId, stream),
  );
  const inV4 = ofModel.filter(
    (stream) => stream.generation === 'v4' && stream.companyId === row.v4_company_id,
  );
  const lists = [...inV3, ...inV4].map(
    (stream): ListReading => ({
      generation: stream.generation,
      name: `${stream.generation.toUpperCase()} ${nameOfList(stream)}`,
      state: stream.state,
      readAt: stream.readAt,
      note: stream.endReason,
    }),
  );
  if (inV4.length > 0 || row.v4_company_id === null || v4 === null) return lists;
  const name = `V4 ${nameOfList({ region: '', model, companyId: row.v4_company_id })}`;
  return [...lists, { generation: 'v4', name, state: null, readAt: null, note: null }];
}
