import { join } from 'node:path';
import { openDatabase } from '../../src/store/open.js';
import { seal } from './seal.js';

/**
 * Multiplies the live records of an exported database: each gets so many copies with ids and keys of their own, twins
 * stay twins. Copies have neither payload nor children.
 */
export function multiplyRecords(folder: string, copies: number): number {
  const db = openDatabase(join(folder, 'svc-migrate.db'), 'write');
  db.exec(`
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${copies})
    INSERT INTO record(stream_id, svc_id, company_id, platform_id, unique_id, deleted, updated_ms, latest_ms,
      latest_from, created_ms, members, walk)
    SELECT r.stream_id, r.svc_id + n.i * 1000000, r.company_id, r.platform_id || '-' || n.i, NULL, 0, r.updated_ms,
      r.latest_ms, r.latest_from, r.created_ms, r.members, r.walk
    FROM record AS r CROSS JOIN n WHERE r.platform_id IS NOT NULL AND r.deleted = 0`);
  seal(db);
  const count = db.prepare<[], bigint>('SELECT count(*) FROM record').pluck().get() ?? 0n;
  db.close();
  return Number(count);
}
