import { basename } from 'node:path';
import type { Config } from '../config/config.js';
import { readDecisionCounts, readIdleDecisions } from '../store/decisions.js';
import type { Db } from '../store/open.js';
import type { Scope } from '../store/remap.js';
import { readRemapInputs } from '../store/remap-inputs.js';
import { whyIdle } from './describe-decisions.js';
import type { CountByModel } from './gate.js';
import type { DecisionsSection } from './section-schemas.js';

/** Lines listed in a report. */
const LISTED = 1000;

/** What became of the decisions that the last remap was built with; null where there were none and none are configured. */
export function readDecisions(db: Db, config: Config, scope: Scope): DecisionsSection | null {
  const sha256 = readRemapInputs(db)['decisions'] ?? null;
  const counts = readDecisionCounts(db, scope);
  if (config.decisions === null && sha256 === null && counts.length === 0) return null;
  const total = (wanted: string) =>
    counts.reduce((sum, { outcome, n }) => sum + (outcome === wanted ? Number(n) : 0), 0);
  return {
    file: config.decisions === null ? 'decisions' : basename(config.decisions),
    sha256,
    taken: total('taken'),
    notNeeded: total('not_needed'),
    stale: total('stale'),
    idle: readIdleDecisions(db, scope, LISTED).map((row) => ({
      line: row.line,
      model: row.model,
      path: row.path,
      region: row.region,
      v3_company_id: String(row.v3CompanyId),
      v3_svc_id: row.v3SvcId?.toString() ?? null,
      v4_svc_id: row.v4SvcId?.toString() ?? null,
      note: row.note,
      outcome: row.outcome === 'not_needed' ? 'not_needed' : 'stale',
      why: row.why,
      text: whyIdle(row),
    })),
  };
}

/** Decisions that the data do not support, by model. */
export function countStaleDecisions(db: Db, scope: Scope): CountByModel {
  const stale = readDecisionCounts(db, scope).filter(({ outcome }) => outcome === 'stale');
  return new Map(stale.map(({ model, n }) => [model, Number(n)]));
}
