import { toFinding } from '../../store/finding.js';
import { escapeJson } from '../../text/escape.js';
import type { Explanation, SeenObject, Story } from './story.js';

/** The answer for scripts; ids are digits in text, times ISO 8601. */
export function renderExplanationJson(answer: Explanation): string {
  const value = {
    schemaVersion: 1,
    model: answer.model,
    id: answer.id === null ? null : String(answer.id),
    platform_id: answer.platformId,
    remapBuiltAt: answer.builtAt,
    warnings: answer.warnings,
    more: answer.isCut,
    unknown: answer.unknown,
    stories: answer.stories.map(storyOf),
  };
  return `${escapeJson(JSON.stringify(value, null, 2))}\n`;
}

function storyOf({ facts, fields, isCandidate, title, sentence, because, wouldChange, next }: Story) {
  return {
    takenFor: facts.readings,
    row: toFinding(facts.row),
    title,
    sentence,
    because,
    wouldChange,
    next,
    v3: facts.v3 === null ? null : seenOf(facts.v3),
    v4: facts.v4 === null ? null : seenOf(facts.v4),
    named: facts.named.map(seenOf),
    fields,
    fieldsNameCandidate: isCandidate,
    company: facts.company,
    lists: facts.lists,
  };
}

function seenOf(seen: SeenObject) {
  return {
    generation: seen.generation,
    region: seen.region,
    company_id: String(seen.companyId),
    svc_id: String(seen.svcId),
    parent_svc_id: seen.parentSvcId === null ? null : String(seen.parentSvcId),
    platform_id: seen.platformId,
    platform_unique_id: seen.platformUniqueId,
    deleted: seen.deleted,
    updated: timeOf(seen.updatedMs),
    latest: timeOf(seen.latestMs),
    latestFrom: seen.latestFrom,
    created: timeOf(seen.createdMs),
  };
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
