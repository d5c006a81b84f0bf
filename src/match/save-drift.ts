import { crc32 } from 'node:zlib';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { damaged } from '../store/checksum.js';
import { checkFile } from '../store/integrity.js';
import type { Db } from '../store/open.js';
import { holdsPayloads } from '../store/story-rows.js';
import { prepareCompare } from './compare-payloads.js';

/** Pairs read at once: nothing can be written while a query is open, and their payloads must fit into memory. */
const CHUNK = 250;

/** Matched pairs of live records with both payloads. Reading these as text takes two thirds of the time. */
const PAIRS = `
  SELECT pair.v3_record_id, pair.paired_model_id, CAST(v3_payload.body AS TEXT), CAST(v4_payload.body AS TEXT),
      v3_payload.checksum, v4_payload.checksum
    FROM pair CROSS JOIN payload AS v3_payload ON v3_payload.record_id = pair.v3_record_id
    CROSS JOIN payload AS v4_payload ON v4_payload.record_id = pair.v4_record_id
    WHERE pair.v3_record_id > ? AND pair.reason IS NULL ORDER BY pair.v3_record_id LIMIT ${CHUNK}`;

type PayloadPair = [
  id: number,
  pairedModel: number,
  v3: string,
  v4: string,
  v3Checksum: number,
  v4Checksum: number,
];

/** Inserts the differing fields (first parameter) of the pair with a V3 record (second parameter, its row id). */
const INSERT = `
  INSERT INTO drift(model, region, v3_company_id, v4_company_id, platform_id, v3_svc_id, v4_svc_id, fields)
  SELECT scope_model.model, r.region, r.company_id, twin.company_id, ifnull(r.platform_id, ''), r.svc_id, twin.svc_id, ?
    FROM v3_record AS r CROSS JOIN pair ON pair.v3_record_id = r.id CROSS JOIN record AS twin ON twin.id = pair.v4_record_id
    CROSS JOIN scope_model ON scope_model.id = r.model_id WHERE r.id = ?`;

/**
 * Compares the payloads of every matched pair. Writes a row of `drift` for each pair that differs, and to `drift_scope`,
 * by model and company, how many pairs of live records there are and how many had both payloads. Part of the remap's
 * transaction, after the rows of the remap are written.
 */
export function saveDrift(db: Db, config: Config, throwIfStopped: () => void): void {
  db.exec('DELETE FROM drift; DELETE FROM drift_scope');
  const insert = db.prepare<[string, number]>(INSERT);
  const modelOf = prepareModelOf(db, config);
  const read = db.prepare<[number], PayloadPair>(PAIRS).raw().safeIntegers(false);
  for (let last = 0; ; ) {
    throwIfStopped();
    const rows = read.all(last);
    for (const [id, pairedModel, v3, v4, v3Checksum, v4Checksum] of rows) {
      if (!isIntact(v3, v3Checksum) || !isIntact(v4, v4Checksum)) throw damaged('A stored payload');
      last = id;
      const scope = modelOf(pairedModel);
      scope.compared += 1;
      const fields = scope.compare(v3, v4);
      if (fields.length > 0) insert.run(JSON.stringify(fields), id);
    }
    if (rows.length < CHUNK) break;
  }
  const count = db.prepare(
    'INSERT INTO drift_scope(model, region, v3_company_id, pairs, compared) VALUES (?, ?, ?, ?, ?)',
  );
  const live = db
    .prepare<[], [pairedModel: number, pairs: number]>(
      'SELECT paired_model_id, count(*) FROM pair WHERE reason IS NULL GROUP BY 1',
    )
    .raw()
    .safeIntegers(false);
  let isIncomplete = false;
  for (const [pairedModel, pairs] of live.all()) {
    const { model, region, v3, compared } = modelOf(pairedModel);
    count.run(model, region, v3, pairs, compared);
    isIncomplete ||= compared < pairs;
  }
  // Damage can hide payloads; where none is missing, or all are, there is nothing to prove.
  if (isIncomplete && holdsPayloads(db)) checkFile(db, ['payload'], throwIfStopped);
}

/** A model of a company pair. */
interface ComparedModel {
  readonly model: string;
  readonly region: string;
  readonly v3: bigint;
  readonly compare: ReturnType<typeof prepareCompare>;
  /** Pairs that had both payloads. */
  compared: number;
}

/** Makes the function that returns a paired model by its id. */
function prepareModelOf(db: Db, { models, drift, fieldPrefix }: Config): (id: number) => ComparedModel {
  const compareOf = new Map(
    models.map(({ v3, children }) => {
      const ignored = new Set([...children, ...(drift.ignore['*'] ?? []), ...(drift.ignore[v3] ?? [])]);
      return [v3, prepareCompare({ fieldPrefix, ignored, trustsHash: drift.trustDataHash })];
    }),
  );
  const rows = db
    .prepare<[], [id: bigint, model: string, region: string, v3: bigint]>(`
      SELECT paired_model.id, scope_model.model, v3_company.region, v3_company.company_id
        FROM paired_model JOIN scope_model ON scope_model.id = paired_model.model_id
        JOIN scope_v3_company AS v3_company ON v3_company.id = paired_model.v3_company`)
    .raw()
    .all();
  const byId = new Map<number, ComparedModel>();
  for (const [id, model, region, v3] of rows) {
    const compare = compareOf.get(model);
    if (compare !== undefined) byId.set(Number(id), { model, region, v3, compare, compared: 0 });
  }
  return (id) => {
    const found = byId.get(id);
    if (found === undefined)
      throw new SvcError('internal', `Pairs belong to the unknown paired model ${id}.`);
    return found;
  };
}

/** In a damaged database, a body can have any SQLite type. */
function isIntact(body: unknown, checksum: unknown): boolean {
  return typeof body === 'string' && crc32(body) === checksum;
}
