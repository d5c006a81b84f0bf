import type { Ask, Question } from './ask-list.js';
import type { Answer, PageFacts } from './facts.js';

/** Limits tried after a refusal. */
const SMALLER = [100, 10] as const;

/** A list with the answer it gave to a small page. */
interface Measured {
  readonly question: (limit: number) => Question;
  readonly answer: Answer;
}

/** Asks a host's longest list for a page of the configured size; null where no list holds anything. */
export async function probePages(
  ask: Ask,
  label: string,
  pageSize: number,
  lists: readonly Measured[],
): Promise<PageFacts | null> {
  const [longest] = [...lists].sort((a, b) => lengthOf(b.answer) - lengthOf(a.answer));
  if (longest === undefined || lengthOf(longest.answer) === 0) return null;
  const answer = await ask(longest.question(pageSize));
  if (answer.kind === 'answers') {
    const got = answer.records.length + answer.rejected;
    return { label, asked: pageSize, got, hasMore: answer.hasMore, smaller: null };
  }
  if (answer.kind !== 'refused') return null;
  return {
    label,
    asked: pageSize,
    got: null,
    hasMore: false,
    smaller: await findSmaller(ask, longest, pageSize),
  };
}

async function findSmaller(ask: Ask, { question }: Measured, pageSize: number): Promise<number | null> {
  for (const limit of SMALLER.filter((one) => one < pageSize)) {
    if ((await ask(question(limit))).kind === 'answers') return limit;
  }
  return null;
}

function lengthOf(answer: Answer): number {
  if (answer.kind !== 'answers') return 0;
  return Math.max(answer.totalCount ?? 0, answer.records.length + answer.rejected);
}
