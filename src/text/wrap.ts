import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';

export function displayWidth(text: string): number {
  return stringWidth(text);
}

export function fitText(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  if (width < 1) return '';
  const chars = [...text];
  const tail = takeColumns(chars.toReversed(), Math.floor((width - 1) / 2)).reverse();
  const head = takeColumns(chars, width - 1 - stringWidth(tail.join('')));
  return `${head.join('')}…${tail.join('')}`;
}

export function cutText(text: string, max: number): string {
  if (text.length <= max) return text;
  const chars = [...text];
  return chars.length > max ? `${chars.slice(0, max).join('')}…` : text;
}

function takeColumns(chars: readonly string[], width: number): string[] {
  let used = 0;
  const end = chars.findIndex((char) => {
    used += stringWidth(char);
    return used > width;
  });
  return end < 0 ? [...chars] : chars.slice(0, end);
}

const FIXED_SPACE = '\u00a0';
const UNIT = / (?=(?:%|[KMGT]iB|ms|s|min|h|d)(?![A-Za-z]))/g;

/** Wraps words. Commands between backticks and words longer than a line stay whole, so that they can be copied. */
export function wrapText(text: string, width: number, indent = ''): string[] {
  const fixed = text
    .replace(/`svc-migrate [^`]+`/g, (command) => command.replaceAll(' ', FIXED_SPACE))
    .replace(/\d [^ ]+/g, (amount) => amount.replace(UNIT, FIXED_SPACE));
  const columns = Math.max(1, width - stringWidth(indent));
  return wrapAnsi(fixed, columns, { trim: true })
    .split('\n')
    .map((line) => `${indent}${line.replaceAll(FIXED_SPACE, ' ')}`.trimEnd());
}

/** Wraps words, and breaks those that are longer than a line. */
export function wrapCell(text: string, width: number): string[] {
  return stringWidth(text) <= width ? [text] : wrapAnsi(text, Math.max(1, width), { hard: true }).split('\n');
}

/** Wraps each line with its own indentation; a list's marker (`- `, `→ `) hangs. `Next:` lines stay whole. */
export function wrapLines(lines: readonly string[], width: number): string {
  return lines.map((line) => `${wrapHanging(line, width)}\n`).join('');
}

function wrapHanging(line: string, width: number): string {
  if (line.startsWith('Next: ')) return line;
  const [head = ''] = /^ *(?:[→-] )?/.exec(line) ?? [];
  const wrapped = wrapText(line.slice(head.length), width, ' '.repeat(head.length));
  return head + wrapped.join('\n').slice(head.length);
}

export function fitParts([name = '', ...parts]: readonly string[], width: number): string {
  let line = fitText(name, width);
  for (const part of parts) {
    const longer = `${line} · ${part}`;
    if (displayWidth(longer) <= width) line = longer;
  }
  return line;
}
