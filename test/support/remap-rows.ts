import type { Config } from '../../src/config/config.js';
import type { Decision, NamedCompanyPair } from '../../src/domain.js';
import { buildRemap } from '../../src/match/build-remap.js';
import type { Db } from '../../src/store/open.js';
import { type Exported, openExported } from './exported.js';

export interface Row {
  readonly path: string;
  readonly region: string | null;
  readonly v3_company_id: bigint | null;
  readonly v4_company_id: bigint | null;
  readonly v3_svc_id: bigint | null;
  readonly v4_svc_id: bigint | null;
  readonly status: string;
  readonly reason: string | null;
  readonly matched_by: string | null;
  readonly evidence: string;
  readonly unique_id_conflict: bigint;
}

const CLOCK = { now: () => Date.parse('2026-11-20T00:00:00Z') };

export function remapOf(
  db: Db,
  config: Config,
  named: readonly NamedCompanyPair[] = [],
  decisions: readonly Decision[] = [],
): Row[] {
  buildRemap({ db, config, named, decisions, clock: CLOCK, onProgress: () => {} });
  return db.prepare<[], Row>('SELECT * FROM remap_entry ORDER BY id').all();
}

export function remapRows(
  config: Config,
  exported: Exported,
  named: readonly NamedCompanyPair[] = [],
): Row[] {
  const { db, close } = openExported(config, exported);
  try {
    return remapOf(db, config, named);
  } finally {
    close();
  }
}

/** `path? v3→v4 status/reason`, the shape tables of cases are written in. */
export function brief(row: Row): string {
  const ids = `${row.v3_svc_id ?? '-'}→${row.v4_svc_id ?? '-'}`;
  const by = row.matched_by === 'platform_unique_id' ? ' by uid' : '';
  const path = row.path === '' ? '' : 'child ';
  const decided = row.matched_by === 'decision' ? ' by decision' : '';
  return `${path}${ids} ${row.status}${row.reason === null ? '' : `/${row.reason}`}${by}${decided}`;
}
