import { visit } from 'jsonc-parser';
import type { PathValues } from './column-sample.js';

const PLAIN_NAME = /^[\p{L}_$][\p{L}\p{N}_$-]*$/u;
const OPTIONS = { disallowComments: true } as const;

/** Adds every number and text of a JSON value under its path, exact to the last digit; items of lists share `[*]`. */
export function addJsonLeaves(text: string, into: PathValues): void {
  visit(
    text,
    {
      onLiteralValue: (value, offset, length, _line, _column, pathOf) => {
        if (typeof value !== 'number' && typeof value !== 'string') return;
        const leaf = typeof value === 'string' ? value : text.slice(offset, offset + length);
        into.add(formatPath(pathOf()), leaf);
      },
    },
    OPTIONS,
  );
}

function formatPath(segments: readonly (string | number)[]): string {
  const steps = segments.map((segment) => {
    if (typeof segment === 'number') return '[*]';
    if (PLAIN_NAME.test(segment)) return `.${segment}`;
    return segment.includes("'") ? `["${segment}"]` : `['${segment}']`;
  });
  return `$${steps.join('')}`;
}
