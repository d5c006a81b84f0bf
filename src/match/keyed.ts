import { itemPattern, PLAIN, parseItems } from '../json/stored-lists.js';
import type { Db } from '../store/open.js';

/** A record with a key, from `keyed_record`. */
export interface KeyedRecord {
  readonly gen: 3 | 4;
  /** The id of its company in `scope_v3_company` or `scope_v4_company`. */
  readonly company: number;
  readonly deleted: boolean;
  /** Whether its stream was read in full. */
  readonly inFull: boolean;
  readonly id: number;
  readonly uid: string | null;
  readonly fieldDigests: string;
}

/**
 * Rows read at once, because nothing can be written while a query is open. They are returned as one text, which takes
 * half the time of returning rows. With 500, the text exceeds 128 KiB: V8 allocates such texts separately, and one of
 * four remaps then took 30 MiB more.
 */
const CHUNK = 200;

/** Fills `keyed_record` with every record that has a key, sorted by model and key. */
export function saveKeyed(db: Db): void {
  db.exec(`
    CREATE TEMP TABLE keyed_record(
      position INTEGER PRIMARY KEY, model_id INTEGER NOT NULL, platform_id TEXT NOT NULL, company INTEGER NOT NULL,
      read_in_full INTEGER NOT NULL, deleted INTEGER NOT NULL, generation INTEGER NOT NULL, record_id INTEGER NOT NULL,
      unique_id TEXT, field_digests TEXT NOT NULL
    ) STRICT;
    INSERT INTO keyed_record(
        model_id, platform_id, company, read_in_full, deleted, generation, record_id, unique_id, field_digests)
      SELECT stream.model_id, record.platform_id, ifnull(v3_company.id, v4_company.id), stream.read_in_full,
          record.deleted, stream.generation, record.id, record.unique_id, record.field_digests
        FROM record CROSS JOIN scope_stream AS stream ON stream.stream_id = record.stream_id
        LEFT JOIN scope_v3_company AS v3_company ON stream.generation = 3
          AND v3_company.region = stream.region AND v3_company.company_id = record.company_id
        LEFT JOIN scope_v4_company AS v4_company ON stream.generation = 4
          AND v4_company.company_id = record.company_id
        WHERE record.platform_id IS NOT NULL ORDER BY 1, 2, 3, 4, 5, 6;
  `);
}

type KeyedRow = readonly [
  model: number,
  key: string,
  company: number,
  inFull: number,
  deleted: number,
  generation: number,
  id: number,
  uid: string | null,
  fieldDigests: string,
];

const ROW = itemPattern(
  String.raw`(\d+),${PLAIN},(\d+),([01]),([01]),([34]),(\d+),(?:${PLAIN}|null),${PLAIN}`,
);

function rowOf(found: RegExpExecArray): KeyedRow {
  const [, model, key = '', company, inFull, deleted, generation, id, uid = null, fieldDigests = ''] = found;
  const place = [Number(model), key, Number(company)] as const;
  return [...place, Number(inFull), Number(deleted), Number(generation), Number(id), uid, fieldDigests];
}

/** Reads `keyed_record` in order and calls `onGroup` with the records of each key of a model, ordered by company. */
export function walkKeyed(
  db: Db,
  wanted: { readonly fieldDigests: boolean; readonly throwIfStopped?: () => void },
  onGroup: (group: readonly KeyedRecord[], model: number) => void,
): void {
  const read = db
    .prepare<[bigint, bigint], string>(`
      SELECT json_group_array(json_array(model_id, platform_id, company, read_in_full, deleted, generation, record_id,
          unique_id, ${wanted.fieldDigests ? 'field_digests' : "''"}))
        FROM (SELECT * FROM keyed_record WHERE position BETWEEN ? AND ? ORDER BY position)`)
    .pluck();
  let group: KeyedRecord[] = [];
  let [ofModel, ofKey] = [0, ''];
  for (let at = 1; ; at += CHUNK) {
    wanted.throwIfStopped?.();
    const rows = parseItems(read.get(BigInt(at), BigInt(at + CHUNK - 1)) ?? '[]', ROW, rowOf);
    for (const [model, key, company, inFull, deleted, generation, id, uid, fieldDigests] of rows) {
      if (model !== ofModel || key !== ofKey) {
        if (group.length > 0) onGroup(group, ofModel);
        group = [];
        [ofModel, ofKey] = [model, key];
      }
      const gen = generation === 3 ? 3 : 4;
      group.push({ gen, company, deleted: deleted === 1, inFull: inFull === 1, id, uid, fieldDigests });
    }
    if (rows.length < CHUNK) break;
  }
  if (group.length > 0) onGroup(group, ofModel);
}
