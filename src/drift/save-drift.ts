import type { Config } from '../config/config.js';
import type { Db } from '../store/open.js';
import { type DriftedField, type DriftRules, findDrift } from './compare-fields.js';

/** Pairs read at once: their payloads are in memory, and nothing can be written while a query is read. */
const CHUNK = 1000;

/** Matched pairs of live records, by the row ids of its records. */
const PAIRS = `
  SELECT m.model, r.region, r.company_id, c4.company_id, r.platform_id, r.svc_id, t.svc_id, e.id, p3.body, p4.body
    FROM rec_result e JOIN rec3 r ON r.id = e.id JOIN m ON m.ix = r.model_ix
    JOIN record t ON t.id = e.twin LEFT JOIN c4 ON c4.ix = r.pair
    LEFT JOIN payload p3 ON p3.record_id = e.id LEFT JOIN payload p4 ON p4.record_id = e.twin
    WHERE e.gen = 3 AND e.outcome = 'matched' AND e.id > ? ORDER BY e.id LIMIT ${CHUNK}`;

type PairRow = [...Ids, bigint, Uint8Array | null, Uint8Array | null];
type Ids = [
  model: string,
  region: string,
  v3: bigint,
  v4: bigint,
  platformId: string,
  v3Id: bigint,
  v4Id: bigint,
];

/**
 * Compares the payloads of every matched pair and writes the `drift` table: one row per pair that differs, and
 * in `drift_scope` per model and company how many pairs there are and how many had payloads to compare. Part of
 * the remap's transaction, after its results are known.
 */
export function saveDrift(db: Db, config: Config): void {
  db.exec('DELETE FROM drift; DELETE FROM drift_scope');
  const insert = db.prepare(`
    INSERT INTO drift(model, region, v3_company_id, v4_company_id, platform_id, v3_svc_id, v4_svc_id, fields)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
  const scope = new Map<string, Compared>();
  const rulesOf = new Map(config.models.map(({ v3, children }) => [v3, rulesFor(config, v3, children)]));
  const read = db.prepare<[bigint], PairRow>(PAIRS).raw();
  for (let last = 0n; ; ) {
    const rows = read.all(last);
    for (const row of rows) {
      const [model, region, v3, v4, platformId, v3Id, v4Id, id] = row;
      last = id;
      const fields = compareRow(row, rulesOf.get(model), scope);
      if (fields.length > 0)
        insert.run(model, region, v3, v4, platformId, v3Id, v4Id, JSON.stringify(fields));
    }
    if (rows.length < CHUNK) break;
  }
  const count = db.prepare(
    'INSERT INTO drift_scope(model, region, v3_company_id, pairs, compared) VALUES (?, ?, ?, ?, ?)',
  );
  for (const { model, region, v3, pairs, compared } of scope.values()) {
    count.run(model, region, v3, BigInt(pairs), BigInt(compared));
  }
}

/** The pairs of one model and V3 company. */
interface Compared {
  readonly model: string;
  readonly region: string;
  readonly v3: bigint;
  pairs: number;
  compared: number;
}

/** What drifted between the two payloads of a pair, which is counted as compared where both are there. */
function compareRow(
  row: PairRow,
  rules: DriftRules | undefined,
  scope: Map<string, Compared>,
): DriftedField[] {
  const [model, region, v3, , , , , , body3, body4] = row;
  const key = `${v3} ${model} ${region}`;
  const counts = scope.get(key) ?? { model, region, v3, pairs: 0, compared: 0 };
  scope.set(key, counts);
  counts.pairs += 1;
  if (body3 === null || body4 === null || rules === undefined) return [];
  counts.compared += 1;
  return findDrift(parse(body3), parse(body4), rules);
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
