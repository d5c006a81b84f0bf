import type { Config } from '../../config/config.js';
import { damaged } from '../../store/checksum.js';
import type { Db } from '../../store/open.js';
import { nameOfList } from '../../store/readiness.js';
import {
  type CompanyRow,
  readChildFields,
  readCompanyRow,
  readParents,
  readRecordFields,
  readStoredChild,
  readStoredRecord,
  readStoryRows,
  type StoredObject,
  type StoryRow,
} from '../../store/story-rows.js';
import type { StreamRow } from '../../store/stream-row.js';
import type { VerifiedRemap } from '../../store/verified-remap.js';
import { namedIds, parseEvidence } from './evidence.js';
import type { CompanyPairing, ListReading, Reading, SeenObject, StoryFacts } from './story.js';

/** What reading stories needs. */
export interface StorySource {
  readonly db: Db;
  readonly remap: VerifiedRemap;
  /** Whether the remap is of the exports as they are: each of its rows then has its stored records. */
  readonly isCurrent: boolean;
  readonly config: Config;
  readonly streams: readonly StreamRow[];
}

/** Everything known about a row that was found. */
export function readStoryFacts(source: StorySource, row: StoryRow, readings: readonly Reading[]): StoryFacts {
  const company = readCompanyRow(source.db, {
    region: row.region,
    v3: row.v3_company_id,
    v4: row.v4_company_id,
  });
  // A row that only V4 has names no V3 company; the pair of its company does.
  const place: Place = {
    row,
    region: row.region ?? company?.region ?? null,
    v3: row.v3_company_id ?? company?.v3_company_id ?? null,
    v4: row.v4_company_id ?? company?.v4_company_id ?? null,
  };
  const v3 = readSide(source, place, 'v3', row.v3_svc_id);
  const v4 = readSide(source, place, 'v4', row.v4_svc_id);
  const ids = namedIds(parseEvidence(row.evidence));
  return {
    row,
    readings,
    v3,
    v4,
    named: ids.flatMap(({ side, svcId }) => readSide(source, place, side, svcId) ?? []),
    lists: listsOf(source, place),
    company: company === undefined ? null : toPairing(company),
    parents: row.path === '' ? [] : parentsOf(source, row, v3 ?? v4),
  };
}

/** A row with the companies it concerns. */
interface Place {
  readonly row: StoryRow;
  readonly region: string | null;
  readonly v3: bigint | null;
  readonly v4: bigint | null;
}

/** The object of one side, where the export holds it. */
function readSide(
  source: StorySource,
  place: Place,
  side: 'v3' | 'v4',
  svcId: bigint | null,
): SeenObject | null {
  const { row } = place;
  const companyId = place[side];
  if (svcId === null || companyId === null) return null;
  const region = side === 'v3' ? (place.region ?? '') : '';
  const stored = { generation: side, model: row.model, region, companyId, svcId } as const;
  if (row.path === '') {
    const record = readStoredRecord(source.db, stored);
    if (record === undefined && source.isCurrent) throw damaged('A stored record');
    return record === undefined ? null : seenRecord(source.db, record, side, region);
  }
  const [parent] = readParents(source.db, source.remap, {
    ...stored,
    path: row.path,
    parentPlatformId: row.parent_platform_id,
  });
  if (parent === undefined && source.isCurrent) throw damaged('A stored record');
  return parent === undefined ? null : seenChild(source, parent, side, region, row.path, svcId);
}

function seenRecord(db: Db, record: StoredObject, generation: 'v3' | 'v4', region: string): SeenObject {
  return {
    generation,
    region,
    companyId: record.company_id,
    svcId: record.svc_id,
    parentSvcId: null,
    platformId: record.platform_id,
    platformUniqueId: record.unique_id,
    deleted: record.deleted === 1n,
    updatedMs: msOf(record.updated_ms),
    latestMs: msOf(record.latest_ms),
    latestFrom: record.latest_from,
    createdMs: msOf(record.created_ms),
    fields: readRecordFields(db, record.record_id),
  };
}

function seenChild(
  { db, config }: StorySource,
  parent: StoredObject,
  generation: 'v3' | 'v4',
  region: string,
  path: string,
  svcId: bigint,
): SeenObject | null {
  const child = readStoredChild(db, parent.record_id, path, svcId);
  if (child === undefined) return null;
  return {
    generation,
    region,
    companyId: parent.company_id,
    svcId,
    parentSvcId: parent.svc_id,
    platformId: child.platform_id,
    platformUniqueId: child.unique_id,
    deleted: child.deleted === 1n,
    updatedMs: null,
    latestMs: null,
    latestFrom: null,
    createdMs: null,
    fields: readChildFields(db, parent.record_id, path, svcId, `${config.fieldPrefix}id`),
  };
}

function msOf(value: bigint | null): number | null {
  return value === null ? null : Number(value);
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
  const found = [...inV3, ...inV4].map(toReading);
  const isInV4 = config.models.some((pair) => pair.v3 === model && pair.v4 !== null);
  if (inV4.length > 0 || v4 === null || !isInV4) return found;
  const name = `V4 ${nameOfList({ region: '', model, companyId: v4 })}`;
  return [...found, { generation: 'v4', name, state: null, readAt: null, note: null }];
}

function toReading(stream: StreamRow): ListReading {
  const { generation, state, readAt, endNote } = stream;
  return {
    generation,
    name: `${generation.toUpperCase()} ${nameOfList(stream)}`,
    state,
    readAt,
    note: endNote,
  };
}

function toPairing(row: CompanyRow): CompanyPairing {
  return {
    matchedBy: row.matched_by,
    v3: row.v3_company_id === null ? null : `${row.v3_company_id} (${row.region ?? ''})`,
    v4: row.v4_company_id?.toString() ?? null,
    sharedKeys: Number(row.shared_keys),
    agreeingKeys: Number(row.agreeing_keys),
    candidates: candidatesOf(row),
  };
}

/** `V4 9: 3 of 5 shared keys agree`. */
function candidatesOf({ note }: CompanyRow): string[] {
  const rows: unknown = JSON.parse(note);
  if (!Array.isArray(rows)) return [];
  return rows.map((row: Readonly<Record<string, unknown>>) => {
    const who =
      row['v4_company_id'] === undefined
        ? `V3 ${row['v3_company_id']} (${row['region']})`
        : `V4 ${row['v4_company_id']}`;
    return `${who}: ${row['agreeing_keys']} of ${row['shared_keys']} shared keys agree`;
  });
}

/** What became of the records with the parent's key, on the child's side. */
function parentsOf({ db, remap }: StorySource, row: StoryRow, child: SeenObject | null): string[] {
  if (child === null || child.parentSvcId === null) return [];
  const by = child.generation;
  const question = { model: row.model, by, value: child.parentSvcId, path: '' } as const;
  const rows = readStoryRows(db, remap, { ...question, region: row.region, companyId: child.companyId }, 5);
  return rows.map((parent) => {
    const twin = by === 'v3' ? parent.v4_svc_id : parent.v3_svc_id;
    const other = by === 'v3' ? 'V4' : 'V3';
    const outcome = `${parent.status}${parent.reason === null ? '' : `/${parent.reason}`}`;
    const pair = twin === null ? '' : `, ${other} ${twin}`;
    return `${row.model} ${by.toUpperCase()} ${child.parentSvcId}, platform_id ${parent.platform_id ?? 'none'}: ${outcome}${pair}`;
  });
}
