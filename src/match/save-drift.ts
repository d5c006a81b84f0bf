import { crc32 } from 'node:zlib';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { damaged } from '../store/checksum.js';
import type { Db } from '../store/open.js';
import { type DriftedField, type DriftRules, findDrift, isCompared } from './compare-fields.js';
import { haveSameMembers } from './same-members.js';

/** Pairs read at once: their payloads are in memory, and nothing can be written while a query is read. */
const CHUNK = 250;

/** Matched pairs of live records with both payloads. */
const PAIRS = `
  SELECT r.id, r.paired_model_id, v3_payload.body, v4_payload.body, v3_payload.checksum, v4_payload.checksum
    FROM v3_record AS r CROSS JOIN payload AS v3_payload ON v3_payload.record_id = r.id
    CROSS JOIN record AS twin ON twin.id = twin_of(r.id)
    CROSS JOIN payload AS v4_payload ON v4_payload.record_id = twin.id
    WHERE r.id > ? AND NOT r.deleted AND NOT twin.deleted ORDER BY r.id LIMIT ${CHUNK}`;

type PayloadPair = [
  id: number,
  pairedModel: number,
  v3: Uint8Array,
  v4: Uint8Array,
  sum3: number,
  sum4: number,
];

/** Writes what drifted between the records of a pair, by the row id of its V3 record. */
const INSERT = `
  INSERT INTO drift(model, region, v3_company_id, v4_company_id, platform_id, v3_svc_id, v4_svc_id, fields)
  SELECT scope_model.model, r.region, r.company_id, twin.company_id, ifnull(r.platform_id, ''), r.svc_id, twin.svc_id, ?
    FROM v3_record AS r CROSS JOIN record AS twin ON twin.id = twin_of(r.id)
    CROSS JOIN scope_model ON scope_model.id = r.model_id WHERE r.id = ?`;

/**
 * Compares the payloads of every matched pair and writes the `drift` table: one row per pair that differs, and
 * in `drift_scope` per model and company how many pairs there are and how many had payloads to compare. `live`:
 * how many pairs of live records each paired model has. Part of the remap's transaction, after its results are known.
 */
export function saveDrift(db: Db, config: Config, live: ReadonlyMap<number, number>): void {
  db.exec('DELETE FROM drift; DELETE FROM drift_scope');
  const insert = db.prepare<[string, bigint]>(INSERT);
  const pairedModels = readPairedModels(db, config);
  const read = db.prepare<[bigint], PayloadPair>(PAIRS).raw().safeIntegers(false);
  for (let last = 0n; ; ) {
    const rows = read.all(last);
    for (const [id, pairedModel, v3, v4, sum3, sum4] of rows) {
      if (!isIntact(v3, sum3) || !isIntact(v4, sum4)) throw damaged('A stored payload');
      last = BigInt(id);
      const scope = pairedModelOf(pairedModels, pairedModel);
      scope.compared += 1;
      const fields = compareBodies(v3, v4, scope.rules);
      if (fields.length > 0) insert.run(JSON.stringify(fields), last);
    }
    if (rows.length < CHUNK) break;
  }
  const count = db.prepare(
    'INSERT INTO drift_scope(model, region, v3_company_id, pairs, compared) VALUES (?, ?, ?, ?, ?)',
  );
  for (const [pairedModel, pairs] of live) {
    const { model, region, v3, compared } = pairedModelOf(pairedModels, pairedModel);
    count.run(model, region, v3, BigInt(pairs), BigInt(compared));
  }
}

/** A model of a company pair. */
interface PairedModel {
  readonly model: string;
  readonly region: string;
  readonly v3: bigint;
  readonly rules: DriftRules;
  /** Pairs that had both payloads. */
  compared: number;
}

function readPairedModels(db: Db, config: Config): Map<number, PairedModel> {
  const rulesOf = new Map(config.models.map(({ v3, children }) => [v3, rulesFor(config, v3, children)]));
  const rows = db
    .prepare<[], [id: bigint, model: string, region: string, v3: bigint]>(`
      SELECT paired_model.id, scope_model.model, v3_company.region, v3_company.company_id
        FROM paired_model JOIN scope_model ON scope_model.id = paired_model.model_id
        JOIN scope_v3_company AS v3_company ON v3_company.id = paired_model.v3_company`)
    .raw()
    .all();
  return new Map(
    rows.map(([id, model, region, v3]) => {
      const rules = rulesOf.get(model) ?? rulesFor(config, model, []);
      return [Number(id), { model, region, v3, rules, compared: 0 }];
    }),
  );
}

function pairedModelOf(pairedModels: ReadonlyMap<number, PairedModel>, id: number): PairedModel {
  const found = pairedModels.get(id);
  if (found === undefined) throw new SvcError('internal', `Pairs belong to the unknown paired model ${id}.`);
  return found;
}

/** Damage can make a body anything that SQLite stores. */
function isIntact(body: unknown, checksum: unknown): boolean {
  return body instanceof Uint8Array && crc32(body) === checksum;
}

function compareBodies(v3: Uint8Array, v4: Uint8Array, rules: DriftRules): readonly DriftedField[] {
  if (haveSameMembers(v3, v4, (name) => isCompared(name, rules))) return [];
  return findDrift(parse(v3), parse(v4), rules);
}

function rulesFor(config: Config, model: string, children: readonly string[]): DriftRules {
  const { ignore, trustDataHash } = config.drift;
  const ignored = new Set([...children, ...(ignore['*'] ?? []), ...(ignore[model] ?? [])]);
  return { fieldPrefix: config.fieldPrefix, ignored, trustsHash: trustDataHash };
}

/** A payload was checked when its page was read; numbers beyond 2^53 may compare equal to their neighbours. */
function parse(body: Uint8Array): unknown {
  return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
}
