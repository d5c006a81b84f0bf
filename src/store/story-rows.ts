import type { Generation } from '../domain.js';
import { damaged, isIntact } from './checksum.js';
import { prepareReadPayload } from './payloads.js';
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
  /** The row of the record that holds a child. */
  readonly parent: bigint | null;
  readonly unique_id_conflict: bigint;
}

const ROWS = `SELECT id AS row, parent, ${REMAP_COLUMNS.join(', ')}, unique_id_conflict FROM remap_entry`;

/** Rows that answer the question, in the remap's order, at most `limit`. */
export function readStoryRows(
  db: Db,
  remap: VerifiedRemap,
  question: StoryQuestion,
  limit: number,
): StoryRow[] {
  const { model, by, value, path, region, companyId } = question;
  return remap
    .find(by, model, value)
    .map(prepareReadRow(db, remap))
    .filter(
      (row) =>
        (path === null || row.path === path) &&
        (region === null || row.region === region) &&
        (companyId === null || row[`${by}_company_id`] === companyId),
    )
    .slice(0, limit);
}

/** The row of the record that holds a child; null for a record. */
export function readParentRow(db: Db, remap: VerifiedRemap, { parent }: StoryRow): StoryRow | null {
  return parent === null ? null : prepareReadRow(db, remap)(parent);
}

function prepareReadRow(db: Db, remap: VerifiedRemap): (id: bigint) => StoryRow {
  const read = db.prepare<[bigint], StoryRow>(`${ROWS} WHERE id = ?`);
  return (id) => {
    remap.verifyRow(id);
    const row = read.get(id);
    if (row === undefined) throw damagedRemap('rows');
    return row;
  };
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

/** Rejected objects of a model that contain an id, not as a part of other digits; at most `limit`. */
export function readRejectedWith(db: Db, model: string, svcId: string, limit: number): OutsideRow[] {
  const sql = `SELECT generation, region, model, company_id, reason FROM rejected
    WHERE model = ? AND ' ' || raw || ' ' GLOB '*[^0-9]' || ? || '[^0-9]*' ORDER BY id LIMIT ?`;
  return db.prepare<[string, string, bigint], OutsideRow>(sql).all(model, svcId, BigInt(limit));
}
