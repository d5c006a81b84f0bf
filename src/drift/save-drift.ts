import type { Config } from '../config/config.js';
import type { Db } from '../store/open.js';
import { type DriftedField, type DriftRules, findDrift, isCompared } from './compare-fields.js';
import { haveSameMembers } from './same-members.js';

/** Pairs read at once: their payloads are in memory, and nothing can be written while a query is read. */
const CHUNK = 250;

/** Matched pairs of live records, by the row ids of its records. */
const PAIRS = `
  SELECT m.model, r.region, r.company_id, c4.company_id, r.platform_id, r.svc_id, t.svc_id, r.id, p3.body, p4.body
    FROM rec3 AS r CROSS JOIN record AS t ON t.id = twin_of(r.id) CROSS JOIN m ON m.ix = r.model_ix
    LEFT JOIN c4 ON c4.ix = r.pair
    LEFT JOIN payload AS p3 ON p3.record_id = r.id LEFT JOIN payload AS p4 ON p4.record_id = t.id
    WHERE r.id > ? AND NOT r.deleted AND NOT t.deleted ORDER BY r.id LIMIT ${CHUNK}`;

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
  if (haveSameMembers(body3, body4, (name) => isCompared(name, rules))) return [];
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
