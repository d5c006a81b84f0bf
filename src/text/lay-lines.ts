import { escapeUnseen } from './escape.js';
import { wrapText } from './text-layout.js';

/** Lines for people in at most `width` columns, each wrapped under its own indentation, ended by line feeds. */
export function layLines(lines: readonly string[], width: number): string {
  const laid = lines.flatMap((line) => {
    if (line === '') return [''];
    return wrapText(escapeUnseen(line.trimStart()), width, /^ */.exec(line)?.[0] ?? '');
  });
  return laid.map((line) => `${line}\n`).join('');
}
