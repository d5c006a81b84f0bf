import { describeOutcome } from '../../reasons.js';
import { compareFields } from './compare-fields.js';
import { describeEvidence } from './evidence.js';
import type { SeenObject, Story, StoryFacts } from './story.js';

/**
 * Tells what became of a row, and why. Pure.
 *
 * @param fieldPrefix of the service's own fields
 */
export function buildStory(facts: StoryFacts, fieldPrefix: string): Story {
  const { status, reason } = facts.row;
  const { title, meaning, wouldChange, action, explainAction } = describeOutcome(status, reason);
  const [v3, v4] = [facts.v3 ?? candidateOf(facts, 'v3'), facts.v4 ?? candidateOf(facts, 'v4')];
  return {
    facts,
    fields: compareFields(v3, v4, fieldPrefix),
    isCandidate: v3 !== facts.v3 || v4 !== facts.v4,
    title,
    sentence: meaning,
    because: describeEvidence(facts),
    wouldChange,
    next: explainAction ?? action,
  };
}

/** The first record of the other side that the evidence names. */
function candidateOf({ named }: StoryFacts, side: 'v3' | 'v4'): SeenObject | null {
  return named.find(({ generation }) => generation === side) ?? null;
}
