import { escapeUnseen } from '../text/escape.js';
import { wrapLines } from '../text/wrap.js';
import type { Diagnosis } from './doctor.js';
import type { Correction, Finding } from './finding.js';

const MARKS: Readonly<Record<Finding['level'], string>> = {
  ok: 'ok     ',
  note: 'note   ',
  warning: 'warning',
  problem: 'PROBLEM',
};

/** @param next what to run if everything is ready */
export function renderDiagnosis(diagnosis: Diagnosis, next: string, width: number): string {
  const { findings, corrections, ready } = diagnosis;
  const areas = [...new Set(findings.map(({ area }) => area))];
  const lines = areas.flatMap((area) => [
    area,
    ...findings.filter((finding) => finding.area === area).flatMap(describeFinding),
  ]);
  const paste = renderPaste(corrections);
  const end = [
    ready ? 'READY' : 'NOT READY',
    `Next: ${ready ? next : paste === '' ? 'svc-migrate doctor' : 'paste these lines into the configuration, then svc-migrate doctor'}`,
  ];
  return wrapLines(lines, width) + paste + wrapLines(end, width);
}

function describeFinding({ level, text, fix }: Finding): string[] {
  return [
    `  ${MARKS[level]} ${escapeUnseen(text)}`,
    ...(fix === null || level === 'ok' ? [] : [`          → ${escapeUnseen(fix)}`]),
  ];
}

/** Lines to paste into the configuration: for each setting, where it belongs and its member. */
function renderPaste(corrections: readonly Correction[]): string {
  if (corrections.length === 0) return '';
  const blocks = corrections.map(({ path, value }) => {
    const [name = '', ...parents] = path.toReversed();
    const place =
      parents.length === 0
        ? ''
        : `  // in ${parents
            .toReversed()
            .map((parent) => JSON.stringify(parent))
            .join(' > ')}\n`;
    return `${place}  ${JSON.stringify(name)}: ${renderValue(value)},\n`;
  });
  return `\nTo paste into the configuration:\n${blocks.join('')}\n`;
}

/** One item of a list a line. */
function renderValue(value: unknown): string {
  if (!Array.isArray(value)) return escapeUnseen(JSON.stringify(value));
  return `[\n${value.map((item) => `    ${escapeUnseen(JSON.stringify(item))}`).join(',\n')}\n  ]`;
}
