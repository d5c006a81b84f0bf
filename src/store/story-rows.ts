import type { Generation } from '../domain.js';
import { damaged, isIntact } from './checksum.js';
import { prepareReadPayload } from './payloads.js';
import type { IndexKey, IndexPart } from './remap-blocks.js';
import { damagedRemap } from './remap-digest.js';
import { REMAP_COLUMNS, type RemapRow } from './remap-rows.js';
import { RECORD_KEY } from './schema.js';
import type { Db } from './sqlite.js';
import type { VerifiedRemap } from './verified-remap.js';

/** Selects rows of the remap. */
export interface StoryQuestion {
  readonly model: string;
  readonly by: Generation;
  readonly value: bigint;
  /** null: records and children. */
  readonly path: string | null;
  readonly region: string | null;
  /** The V3 company for a V3 id, the V4 company for a V4 id. */
  readonly companyId: bigint | null;
}

/** A row of the remap with its id and internal columns. */
export interface StoryRow extends RemapRow {
  readonly row: bigint;
  readonly unique_id_conflict: bigint;
}

/** Rows that answer the question, in the remap's order, at most `limit`. */
export function readStoryRows(
  db: Db,
  remap: VerifiedRemap,
  question: StoryQuestion,
  limit: number,
): StoryRow[] {
  const { model, by, value, path, region, companyId } = question;
  return db
    .prepare<[object], StoryRow>(
      `SELECT id AS row, ${REMAP_COLUMNS.join(', ')}, unique_id_conflict FROM remap_entry
       WHERE id IN (SELECT value FROM json_each(@rows)) AND (@path IS NULL OR path = @path)
         AND (@region IS NULL OR region = @region) AND (@company IS NULL OR ${by}_company_id IS @company)
       ORDER BY id LIMIT @limit`,
    )
    .all({
      rows: findRows(db, remap, by, model, value),
      path,
      region,
      company: companyId,
      limit: BigInt(limit),
    });
}

/**
 * The ids of the rows of a key, as JSON. Their rows are counted, because blocks are verified as ranges of ids, and a damaged
 * inner page of the table can hide rows from searches for single ids only.
 */
function findRows(db: Db, remap: VerifiedRemap, part: IndexPart, model: string, key: IndexKey): string {
  const ids = remap.find(part, model, key);
  const rows = `[${ids.join(',')}]`;
  const sql = 'SELECT count(*) FROM remap_row WHERE id IN (SELECT value FROM json_each(?))';
  if (db.prepare<[string], bigint>(sql).pluck().get(rows) !== BigInt(ids.length)) throw damagedRemap('rows');
  for (const id of ids) remap.verifyRow(id);
  return rows;
}

/** Identifies a stored record. */
export interface StoredPlace {
  readonly generation: Generation;
  readonly model: string;
  /** '' for V4. */
  readonly region: string;
  readonly companyId: bigint;
  readonly svcId: bigint;
}

/** A stored record with the columns used for matching. */
export interface StoredObject {
  readonly record_id: bigint;
  readonly stream_id: bigint;
  readonly svc_id: bigint;
  readonly company_id: bigint;
  readonly platform_id: string | null;
  readonly unique_id: string | null;
  readonly deleted: bigint;
  readonly updated_ms: bigint | null;
  readonly latest_ms: bigint | null;
  readonly latest_from: 'platform' | 'service' | null;
  readonly created_ms: bigint | null;
}

const RECORD = `record.id AS record_id, record.stream_id, record.svc_id, record.company_id, record.platform_id,
  record.unique_id, record.deleted, record.updated_ms, record.latest_ms, record.latest_from, record.created_ms`;
const IN_LIST = `FROM stream CROSS JOIN record INDEXED BY ${RECORD_KEY} ON record.stream_id = stream.id
  WHERE generation = @generation AND region = @region AND model = @model AND record.company_id = @companyId`;

/**
 * The stored record, or undefined if it was not exported.
 *
 * @throws SvcError `corrupt_database`
 */
export function readStoredRecord(db: Db, place: StoredPlace): StoredObject | undefined {
  const record = db
    .prepare<[object], StoredObject>(`SELECT ${RECORD} ${IN_LIST} AND record.svc_id = @svcId`)
    .get({ ...place });
  if (record !== undefined) assertRecordIntact(db, record);
  return record;
}

/** Also compares the ids, because a damaged index can lead to another record. */
function assertRecordIntact(db: Db, { record_id, stream_id, svc_id }: StoredObject): void {
  const intact = db
    .prepare<[object], unknown>(
      `SELECT 1 FROM record WHERE id = @record_id
         AND (stream_id, svc_id) IS (@stream_id, @svc_id) AND ${isIntact('record')}`,
    )
    .get({ record_id, stream_id, svc_id });
  if (intact === undefined) throw damaged('A stored record');
}

/** The records that contain this child; more than one only if the service repeats ids. */
export function readParents(
  db: Db,
  remap: VerifiedRemap,
  place: StoredPlace & { readonly path: string; readonly parentPlatformId: string | null },
): StoredObject[] {
  const side = place.generation;
  const { model, parentPlatformId } = place;
  const rows = parentPlatformId === null ? null : findRows(db, remap, 'key', model, parentPlatformId);
  const records = db
    .prepare<[object], StoredObject>(
      `SELECT DISTINCT ${RECORD} FROM remap_entry AS remap
       CROSS JOIN stream ON stream.generation = @generation AND stream.region = @region AND stream.model = remap.model
       CROSS JOIN record INDEXED BY ${RECORD_KEY} ON record.stream_id = stream.id
         AND record.svc_id = remap.${side}_svc_id AND record.company_id = @companyId
       WHERE ${rows === null ? 'remap.model = @model AND remap.platform_id IS NULL' : 'remap.id IN (SELECT value FROM json_each(@rows))'}
         AND remap.path = ''
         AND remap.${side}_company_id = @companyId AND EXISTS (
           SELECT 1 FROM child WHERE child.record_id = record.id AND child.path = @path AND child.svc_id = @svcId)
       ORDER BY record.svc_id`,
    )
    .all({ ...place, rows });
  for (const record of records) assertRecordIntact(db, record);
  return records;
}

export interface StoredChildRow {
  readonly svc_id: bigint;
  readonly platform_id: string | null;
  readonly unique_id: string | null;
  readonly deleted: bigint;
}

/** A child of a stored record; undefined if the record does not hold it. */
export function readStoredChild(
  db: Db,
  recordId: bigint,
  path: string,
  svcId: bigint,
): StoredChildRow | undefined {
  const sql =
    'SELECT svc_id, platform_id, unique_id, deleted FROM child WHERE record_id = ? AND path = ? AND svc_id = ?';
  return db.prepare<[bigint, string, bigint], StoredChildRow>(sql).get(recordId, path, svcId);
}

/** A field with a scalar value, as text; null for null. */
export interface PayloadField {
  readonly name: string;
  readonly kind: 'text' | 'number' | 'boolean' | 'null';
  readonly text: string | null;
}

/** Numbers keep all digits: SQLite reads integers to 64 bits exactly. */
const FIELDS = `field.key AS name,
  CASE field.type WHEN 'integer' THEN 'number' WHEN 'real' THEN 'number'
    WHEN 'true' THEN 'boolean' WHEN 'false' THEN 'boolean' ELSE field.type END AS kind,
  CASE field.type WHEN 'null' THEN NULL
    WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE CAST(field.atom AS TEXT) END AS text`;
const SINGLE = `field.type NOT IN ('array', 'object')`;
/** The payload as JSON. SQLite reads JSON with up to 1,000 levels; a deeper payload is shown without fields. */
const PAYLOAD = "(SELECT iif(json_valid(@payload), @payload, '{}'))";

/** The scalar fields of a stored record in their order; empty if no payload is stored. */
export function readRecordFields(db: Db, recordId: bigint): PayloadField[] {
  const sql = `SELECT ${FIELDS} FROM json_each(${PAYLOAD}) AS field WHERE ${SINGLE} ORDER BY field.id`;
  return db.prepare<[object], PayloadField>(sql).all({ payload: prepareReadPayload(db)(recordId) });
}

/** The scalar fields of a child of a stored record. */
export function readChildFields(
  db: Db,
  recordId: bigint,
  path: string,
  svcId: bigint,
  idField: string,
): PayloadField[] {
  const sql = `SELECT ${FIELDS} FROM json_each(${PAYLOAD}, '$.' || json_quote(@path)) AS item, json_each(item.value) AS field
    WHERE item.type = 'object'
      AND json_extract(item.value, '$.' || json_quote(@idField)) = @svcId AND ${SINGLE}
    ORDER BY item.id, field.id`;
  const payload = prepareReadPayload(db)(recordId);
  return db.prepare<[object], PayloadField>(sql).all({ payload, path, svcId, idField });
}

/** A list that contains an id that is not in the remap. */
export interface OutsideRow {
  readonly generation: Generation;
  readonly region: string;
  readonly model: string;
  readonly company_id: bigint | null;
  /** Why the object was rejected; null if its company is excluded. */
  readonly reason: string | null;
}

/** Lists of a model where this id belongs to an excluded company. */
export function readExcludedPlaces(db: Db, model: string, svcId: bigint): OutsideRow[] {
  const sql = `SELECT stream.generation, stream.region, stream.model, stream.company_id, NULL AS reason
    FROM stream JOIN excluded ON excluded.stream_id = stream.id WHERE stream.model = ? AND excluded.svc_id = ?`;
  return db.prepare<[string, bigint], OutsideRow>(sql).all(model, svcId);
}

/** Rejected objects of a model that contain `text`; at most `limit`. */
export function readRejectedWith(db: Db, model: string, text: string, limit: number): OutsideRow[] {
  const sql = `SELECT generation, region, model, company_id, reason FROM rejected
    WHERE model = ? AND instr(raw, ?) > 0 ORDER BY id LIMIT ?`;
  return db.prepare<[string, string, bigint], OutsideRow>(sql).all(model, text, BigInt(limit));
}
