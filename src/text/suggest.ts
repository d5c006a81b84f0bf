import { at } from './at.js';

/** The only candidate that begins with the word or ends in `/` and it, otherwise the closest one; null if none is close. */
export function suggest(word: string, words: Iterable<string>): string | null {
  const candidates = [...words];
  const typed = normalise(word);
  const [meant, ...others] = candidates.filter((candidate) => {
    const name = normalise(candidate);
    return name.endsWith(`/${typed}`) || (typed.length > 2 && name.startsWith(typed));
  });
  if (meant !== undefined && others.length === 0) return meant;
  const distances = candidates.map((candidate) => editDistance(typed, normalise(candidate)));
  const least = Math.min(...distances);
  return least <= Math.ceil(typed.length / 3) ? at(candidates, distances.indexOf(least)) : null;
}

/** The end of a sentence, without a full stop: `; did you mean "x"?`, `; known: a, b` or ''. */
export function didYouMeanClause(word: string, known: readonly string[]): string {
  const near = suggest(word, known);
  if (near !== null) return `; did you mean "${near}"?`;
  return known.length > 0 && known.length <= 12 ? `; known: ${known.join(', ')}` : '';
}

/** The same with a full stop where there is no question mark. */
export function endWithSuggestion(word: string, known: readonly string[]): string {
  const clause = didYouMeanClause(word, known);
  return clause.endsWith('?') ? clause : `${clause}.`;
}

function normalise(word: string): string {
  return word.slice(0, 100).toLowerCase().replaceAll('-', '_');
}

function editDistance(a: string, b: string): number {
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(at(last, j) + 1, at(row, j - 1) + 1, substituted));
    }
    last = row;
  }
  return at(last, b.length);
}
