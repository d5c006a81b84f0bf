import { crc32 } from 'node:zlib';
import type { Config } from '../config/config.js';
import { damaged } from '../store/checksum.js';
import { checkFile } from '../store/integrity.js';
import type { Db } from '../store/open.js';
import { holdsPayloads } from '../store/story-rows.js';
import { prepareCompare } from './compare-payloads.js';
import type { JudgedPair } from './match-company-pair.js';

/** The payloads of two records. Reading these as text takes two thirds of the time. */
const PAYLOADS = `
  SELECT CAST(v3_payload.body AS TEXT), CAST(v4_payload.body AS TEXT), v3_payload.checksum, v4_payload.checksum
    FROM payload AS v3_payload CROSS JOIN payload AS v4_payload
    WHERE v3_payload.record_id = ? AND v4_payload.record_id = ?`;

type Payloads = readonly [v3: unknown, v4: unknown, v3Checksum: unknown, v4Checksum: unknown];

/** Compares the payloads of matched pairs; part of the remap's transaction. */
export interface DriftWriter {
  /**
   * Compares the pairs of a model of two companies. Writes a row of `drift` for each that differs, and to `drift_scope` how
   * many pairs of live records there are and how many had both payloads.
   */
  readonly compare: (judged: JudgedPair, throwIfStopped: () => void) => void;
  /** Call it after the last pair. */
  readonly finish: (throwIfStopped: () => void) => void;
}

export function prepareDrift(db: Db, { models, drift, fieldPrefix }: Config): DriftWriter {
  db.exec('DELETE FROM drift; DELETE FROM drift_scope');
  const compareOf = new Map(
    models.map(({ v3, children }) => {
      const ignored = new Set([...children, ...(drift.ignore['*'] ?? []), ...(drift.ignore[v3] ?? [])]);
      return [v3, prepareCompare({ fieldPrefix, ignored, trustsHash: drift.trustDataHash })];
    }),
  );
  const read = db.prepare<[number, number], Payloads>(PAYLOADS).raw().safeIntegers(false);
  const insert = db.prepare(`
    INSERT INTO drift(model, region, v3_company_id, v4_company_id, platform_id, v3_svc_id, v4_svc_id, fields)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
  const count = db.prepare(
    'INSERT INTO drift_scope(model, region, v3_company_id, pairs, compared) VALUES (?, ?, ?, ?, ?)',
  );
  let isIncomplete = false;
  const compare: DriftWriter['compare'] = ({ model, pair, joined, outcomes }, throwIfStopped) => {
    const { v3, v4, v3Company, v4Company } = pair;
    const compareTexts = compareOf.get(model);
    if (v3Company === null || v4Company === null || compareTexts === undefined) return;
    let [pairs, compared] = [0, 0];
    for (let at = 0; at < v3.length; at++) {
      const twin = joined.twins[at] ?? -1;
      if (twin < 0 || v3.deleted[at] === 1 || v4.deleted[twin] === 1 || outcomes.v3.has(at)) continue;
      if (pairs % 250 === 0) throwIfStopped();
      pairs += 1;
      const found = read.get(v3.ids[at] ?? 0, v4.ids[twin] ?? 0);
      if (found === undefined) continue;
      const [v3Text, v4Text, v3Checksum, v4Checksum] = found;
      if (!isIntact(v3Text, v3Checksum) || !isIntact(v4Text, v4Checksum)) throw damaged('A stored payload');
      compared += 1;
      const fields = compareTexts(v3Text, v4Text);
      if (fields.length === 0) continue;
      const place = [model, v3Company.region, v3Company.companyId, v4Company.companyId, v3.keys[at] ?? ''];
      insert.run(...place, v3.svcIds[at], v4.svcIds[twin], JSON.stringify(fields));
    }
    if (pairs > 0) count.run(model, v3Company.region, v3Company.companyId, pairs, compared);
    isIncomplete ||= compared < pairs;
  };
  return {
    compare,
    // Damage can hide payloads; where none is missing, or all are, there is nothing to prove.
    finish: (throwIfStopped) => {
      if (isIncomplete && holdsPayloads(db)) checkFile(db, ['payload'], throwIfStopped);
    },
  };
}

/** In a damaged database, a body can have any SQLite type. */
function isIntact(body: unknown, checksum: unknown): body is string {
  return typeof body === 'string' && crc32(body) === checksum;
}
