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
  SELECT r.id, r.place, p3.body, p4.body, p3.checksum, p4.checksum
    FROM rec3 AS r CROSS JOIN payload AS p3 ON p3.record_id = r.id
    CROSS JOIN record AS t ON t.id = twin_of(r.id) CROSS JOIN payload AS p4 ON p4.record_id = t.id
    WHERE r.id > ? AND NOT r.deleted AND NOT t.deleted ORDER BY r.id LIMIT ${CHUNK}`;

type PairRow = [id: number, place: number, v3: Uint8Array, v4: Uint8Array, sum3: number, sum4: number];

/** Writes what drifted between the records of a pair, by the row id of its V3 record. */
const INSERT = `
  INSERT INTO drift(model, region, v3_company_id, v4_company_id, platform_id, v3_svc_id, v4_svc_id, fields)
  SELECT m.model, r.region, r.company_id, c4.company_id, ifnull(r.platform_id, ''), r.svc_id, t.svc_id, ?
    FROM rec3 AS r CROSS JOIN record AS t ON t.id = twin_of(r.id) CROSS JOIN m ON m.ix = r.model_ix
    CROSS JOIN c4 ON c4.ix = r.pair WHERE r.id = ?`;

/**
 * Compares the payloads of every matched pair and writes the `drift` table: one row per pair that differs, and
 * in `drift_scope` per model and company how many pairs there are and how many had payloads to compare. `live`:
 * matched pairs of live records by place. Part of the remap's transaction, after its results are known.
 */
export function saveDrift(db: Db, config: Config, live: ReadonlyMap<number, number>): void {
  db.exec('DELETE FROM drift; DELETE FROM drift_scope');
  const insert = db.prepare<[string, bigint]>(INSERT);
  const places = readPlaces(db, config);
  const read = db.prepare<[bigint], PairRow>(PAIRS).raw().safeIntegers(false);
  for (let last = 0n; ; ) {
    const rows = read.all(last);
    for (const [id, at, v3, v4, sum3, sum4] of rows) {
      if (crc32(v3) !== sum3 || crc32(v4) !== sum4) throw damaged('A stored payload');
      last = BigInt(id);
      const place = placeAt(places, at);
      place.compared += 1;
      const fields = compareBodies(v3, v4, place.rules);
      if (fields.length > 0) insert.run(JSON.stringify(fields), last);
    }
    if (rows.length < CHUNK) break;
  }
  const count = db.prepare(
    'INSERT INTO drift_scope(model, region, v3_company_id, pairs, compared) VALUES (?, ?, ?, ?, ?)',
  );
  for (const [at, pairs] of live) {
    const { model, region, v3, compared } = placeAt(places, at);
    count.run(model, region, v3, BigInt(pairs), BigInt(compared));
  }
}

/** A model of a company pair. */
interface Place {
  readonly model: string;
  readonly region: string;
  readonly v3: bigint;
  readonly rules: DriftRules;
  /** Pairs that had both payloads. */
  compared: number;
}

function readPlaces(db: Db, config: Config): Map<number, Place> {
  const rulesOf = new Map(config.models.map(({ v3, children }) => [v3, rulesFor(config, v3, children)]));
  const rows = db
    .prepare<[], [place: bigint, model: string, region: string, v3: bigint]>(`
      SELECT p.place, m.model, c3.region, c3.company_id
        FROM place AS p JOIN m ON m.ix = p.model_ix JOIN c3 ON c3.ix = p.c3`)
    .raw()
    .all();
  return new Map(
    rows.map(([at, model, region, v3]) => {
      const rules = rulesOf.get(model) ?? rulesFor(config, model, []);
      return [Number(at), { model, region, v3, rules, compared: 0 }];
    }),
  );
}

function placeAt(places: ReadonlyMap<number, Place>, at: number): Place {
  const place = places.get(at);
  if (place === undefined)
    throw new SvcError('internal', `Pairs were found in place ${at}, which is unknown.`);
  return place;
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
