import { describeRow } from '../report/reasons.js';
import { compareFields } from './compare-fields.js';
import { describeEvidence } from './evidence.js';
import { describeOutlook } from './outlook.js';
import type { SeenObject, Story, StoryFacts } from './story.js';

/**
 * Tells what became of a row, and why. Pure.
 *
 * @param fieldPrefix of the service's own fields
 */
export function buildStory(facts: StoryFacts, fieldPrefix: string): Story {
  const { status, reason } = facts.row;
  const [v3, v4] = [facts.v3 ?? candidateOf(facts, 'v3'), facts.v4 ?? candidateOf(facts, 'v4')];
  return {
    facts,
    fields: compareFields(v3, v4, fieldPrefix),
    isCandidate: v3 !== facts.v3 || v4 !== facts.v4,
    sentence: describeRow(status, reason).sentence,
    because: describeEvidence(facts),
    ...describeOutlook(status, reason),
  };
}

/** The first record of the other side that the evidence names. */
function candidateOf({ named }: StoryFacts, side: 'v3' | 'v4'): SeenObject | null {
  return named.find(({ generation }) => generation === side) ?? null;
}
