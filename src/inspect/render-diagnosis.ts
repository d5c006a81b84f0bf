import { escapeLines, escapeUnseen } from '../text/escape.js';
import { wrapLines } from '../text/wrap.js';
import type { Diagnosis } from './doctor.js';
import type { Correction, Finding } from './finding.js';

const MARKS: Readonly<Record<Finding['level'], string>> = {
  ok: 'ok     ',
  note: 'note   ',
  warning: 'warning',
  problem: 'PROBLEM',
};

export function renderDiagnosis({ findings, corrections, ready }: Diagnosis, width: number): string {
  const lines = findings.flatMap(({ area, level, text, fix }, index) => [
    ...(findings[index - 1]?.area === area ? [] : [area]),
    `  ${MARKS[level]} ${escapeUnseen(text)}`,
    ...(fix === null ? [] : [`          → ${escapeUnseen(fix)}`]),
  ]);
  const toDo = `${corrections.length === 0 ? 'mend each PROBLEM' : 'mend each PROBLEM, paste these lines'}, then svc-migrate doctor`;
  const verdict = [ready ? 'READY' : 'NOT READY', `Next: ${ready ? 'svc-migrate run' : toDo}`];
  return wrapLines(lines, width) + renderPaste(corrections) + wrapLines(verdict, width);
}

function renderPaste(corrections: readonly Correction[]): string {
  if (corrections.length === 0) return '';
  const blocks = corrections.map(({ path, value }) => {
    const names = path.map((name) => JSON.stringify(name));
    const place = names.length === 1 ? '' : `  // in ${names.slice(0, -1).join(' > ')}\n`;
    return `${place}  ${names.at(-1)}: ${renderValue(value)},\n`;
  });
  return `\nTo paste into the configuration:\n${escapeLines(blocks.join(''))}\n`;
}

function renderValue(value: unknown): string {
  if (!Array.isArray(value)) return JSON.stringify(value);
  return `[\n${value.map((item) => `    ${JSON.stringify(item)}`).join(',\n')}\n  ]`;
}
