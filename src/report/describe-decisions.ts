import type { StaleReason } from '../domain.js';
import type { DecisionResult } from '../store/decisions.js';
import { countOf } from '../text/numbers.js';
import type { DecisionsSection } from './section-schemas.js';

const WHY: Readonly<Record<StaleReason, string>> = {
  company_not_paired: 'its V3 company has no V4 company',
  v3_not_exported: 'V3 shows no such id in this model, path, region and company',
  v4_not_exported: 'V4 shows no such id in this model, path and company (for a child: in the same record)',
  v3_several: 'several records hold a V3 child with this id',
  v4_several: 'several records hold a V4 child with this id',
  parents_not_matched: 'the records that hold the child are not matched',
  v3_deleted: 'the V3 record is deleted',
  v4_deleted: 'the V4 record is deleted',
  v3_paired: 'the V3 record is in a pair that the data prove',
  v4_paired: 'the V4 record is in a pair that the data prove',
  not_read_in_full: 'a list that may hold the counterpart was not read in full',
};

/** Why a decision changed nothing, as the end of a sentence. */
export function whyIdle({ outcome, why }: Pick<DecisionResult, 'outcome' | 'why'>): string {
  if (outcome === 'not_needed') return 'not needed: the data prove it by themselves';
  return why === null ? 'not taken' : `not taken: ${WHY[why]}`;
}

/** `Decisions: 12 taken, 1 not taken, 2 not needed (decisions.csv).` and the first that changed nothing. */
export function describeDecisions(section: DecisionsSection, shown: number): string[] {
  const { file, taken, stale, notNeeded, idle } = section;
  const head = `Decisions: ${countOf(taken, 'line')} of ${file} taken, ${stale} not taken, ${notNeeded} not needed.`;
  const lines = idle.slice(0, shown).map((one) => `line ${one.line}: ${nameOf(one)} ${one.text}`);
  const more = stale + notNeeded - lines.length;
  return [head, ...lines, ...(more > 0 ? [`and ${countOf(more, 'more line')}, see --json`] : [])];
}

function nameOf({ model, path, v3_svc_id, v4_svc_id }: DecisionsSection['idle'][number]): string {
  const name = path === '' ? model : `${model} ${path}`;
  return `${name} ${v3_svc_id ?? 'none'} → ${v4_svc_id ?? 'none'}`;
}
