import type { Config } from '../../config/config.js';
import { damaged } from '../../store/checksum.js';
import type { VerifiedRemap } from '../../store/lookup.js';
import type { Db } from '../../store/open.js';
import { nameOfList } from '../../store/readiness.js';
import { type CompanyRow, readCompanyRows } from '../../store/remap-tables.js';
import {
  readChildFields,
  readParents,
  readRecordFields,
  readStoredChild,
  readStoredRecord,
  readStoryRows,
  type StoryRow,
} from '../../store/story-rows.js';
import type { StreamRow } from '../../store/streams.js';
import { namedIds } from '../../text/describe-evidence.js';
import * as z from '../../zod.js';
import {
  type CompanyPairing,
  type ExportedObject,
  type ListReading,
  parseRowEvidence,
  type Reading,
  type StoryFacts,
} from './story.js';

/** What stories are read from. */
export interface StorySource {
  readonly db: Db;
  readonly remap: VerifiedRemap;
  /** Whether the remap is up to date with the exports, so that every row has its stored records. */
  readonly isCurrent: boolean;
  readonly config: Config;
  readonly streams: readonly StreamRow[];
}

/** Everything known about a row that was found. */
export function readStoryFacts(source: StorySource, row: StoryRow, readings: readonly Reading[]): StoryFacts {
  const { region, v3_company_id, v4_company_id } = row;
  const company = readCompanyRows(source.db).find((pair) =>
    v3_company_id === null
      ? pair.v4_company_id === v4_company_id
      : pair.region === region && pair.v3_company_id === v3_company_id,
  );
  // A row without a V3 record names no V3 company; the pair of its V4 company does.
  const place: Place = {
    row,
    region: region ?? company?.region ?? null,
    v3: v3_company_id ?? company?.v3_company_id ?? null,
    v4: v4_company_id ?? company?.v4_company_id ?? null,
  };
  const v3 = readSide(source, place, 'v3', row.v3_svc_id);
  const v4 = readSide(source, place, 'v4', row.v4_svc_id);
  return {
    row,
    readings,
    v3,
    v4,
    named: namedIds(parseRowEvidence(row.evidence)).flatMap(
      ({ side, svcId }) => readSide(source, place, side, svcId) ?? [],
    ),
    lists: listsOf(source, place),
    company: company === undefined ? null : describePairing(company),
    parents: row.path === '' ? [] : parentsOf(source, row, v3 ?? v4),
  };
}

interface Place {
  readonly row: StoryRow;
  readonly region: string | null;
  readonly v3: bigint | null;
  readonly v4: bigint | null;
}

/** The object of one side; null if the export does not hold it. */
function readSide(
  { db, remap, isCurrent, config }: StorySource,
  place: Place,
  generation: 'v3' | 'v4',
  svcId: bigint | null,
): ExportedObject | null {
  const { model, path, parent_platform_id: parentPlatformId } = place.row;
  const companyId = place[generation];
  if (svcId === null || companyId === null) return null;
  const region = generation === 'v3' ? (place.region ?? '') : '';
  const stored = { generation, model, region, companyId, svcId } as const;
  const record =
    path === ''
      ? readStoredRecord(db, stored)
      : readParents(db, remap, { ...stored, path, parentPlatformId })[0];
  if (record === undefined) {
    if (isCurrent) throw damaged('A stored record');
    return null;
  }
  const child = path === '' ? null : readStoredChild(db, record.record_id, path, svcId);
  if (child === undefined) return null;
  const { platform_id, unique_id, deleted } = child ?? record;
  return {
    generation,
    region,
    company_id: String(companyId),
    svc_id: String(svcId),
    parent_svc_id: child === null ? null : String(record.svc_id),
    platform_id,
    platform_unique_id: unique_id,
    deleted: deleted === 1n,
    updated: child === null ? isoOf(record.updated_ms) : null,
    latest: child === null ? isoOf(record.latest_ms) : null,
    latestFrom: child === null ? record.latest_from : null,
    created: child === null ? isoOf(record.created_ms) : null,
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
  const candidates = candidatesSchema.parse(JSON.parse(row.note)).map((other) => {
    const isV3 = other['v4_company_id'] === undefined;
    const who = isV3 ? `V3 ${other['v3_company_id']} (${other['region']})` : `V4 ${other['v4_company_id']}`;
    return `${who}: ${other['agreeing_keys']} of ${other['shared_keys']} shared keys agree`;
  });
  return {
    matchedBy: row.matched_by,
    v3: row.v3_company_id === null ? null : `${row.v3_company_id} (${row.region ?? ''})`,
    v4: row.v4_company_id?.toString() ?? null,
    sharedKeys: Number(row.shared_keys),
    agreeingKeys: Number(row.agreeing_keys),
    candidates,
  };
}

/** The results of the records with the parent's key, on the child's side. */
function parentsOf({ db, remap }: StorySource, row: StoryRow, child: ExportedObject | null): string[] {
  if (child === null || child.parent_svc_id === null) return [];
  const { generation: by, parent_svc_id: id } = child;
  const place = { model: row.model, path: '', region: row.region, companyId: BigInt(child.company_id) };
  return readStoryRows(db, remap, { ...place, by, value: BigInt(id) }, 5).map((parent) => {
    const { status, reason, platform_id, v3_svc_id, v4_svc_id } = parent;
    const outcome = `${status}${reason === null ? '' : `/${reason}`}`;
    const twin = by === 'v3' ? ['V4', v4_svc_id] : ['V3', v3_svc_id];
    const pair = twin[1] === null ? '' : `, ${twin.join(' ')}`;
    return `${row.model} ${by.toUpperCase()} ${id}, platform_id ${platform_id ?? 'none'}: ${outcome}${pair}`;
  });
}
