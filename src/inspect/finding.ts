import type { SvcError } from '../errors.js';
import { escapeLines, escapeUnseen } from '../text/escape.js';
import { wrapLines, wrapText } from '../text/wrap.js';

export interface Correction {
  readonly path: readonly string[];
  readonly value: unknown;
}

export interface Finding {
  /** `problem`: not ready until it is fixed. */
  readonly level: keyof typeof MARKS;
  /** Stable, for programs. */
  readonly code: string;
  readonly text: string;
  readonly fix: string | null;
  /** For problems: the exit code of the kind of problem. */
  readonly exitCode: ProblemCode | null;
  readonly correction: Correction | null;
}

const MARKS = { ok: 'ok     ', warning: 'warning', problem: 'PROBLEM' } as const;
const INDENT = ' '.repeat(10);

/** Of several, the first decides: 3 key refused, 2 configuration, 6 this machine, 4 network, 5 V4 not ready. */
const PROBLEM_CODES = [3, 2, 6, 4, 5] as const;
type ProblemCode = (typeof PROBLEM_CODES)[number];

export function ok(code: string, text: string, correction: Correction | null = null): Finding {
  return { level: 'ok', code, text, fix: null, exitCode: null, correction };
}

export function warning(code: string, text: string, fix: string): Finding {
  return { level: 'warning', code, text, fix, exitCode: null, correction: null };
}

export function problem(
  code: string,
  exitCode: ProblemCode,
  text: string,
  fix: string,
  correction: Correction | null = null,
): Finding {
  return { level: 'problem', code, text, fix, exitCode, correction };
}

export function failure({ code, exitCode, message, hint }: SvcError): Finding {
  // After all attempts, a wrong answer means another server at that address, or a configuration that does not fit.
  const isSettings = code === 'bad_response' || code === 'http_status';
  const ownCode = isSettings ? 2 : PROBLEM_CODES.find((number) => number === exitCode);
  const fix = code === 'http_status' ? 'Check baseUrl, fieldPrefix, and "models" with "expand".' : hint;
  return problem(code, ownCode ?? 4, message, fix ?? 'Check the configuration and the network.');
}

export type Diagnosis = ReturnType<typeof buildDiagnosis>;

export function buildDiagnosis(checked: readonly (Finding & { readonly area: string })[]) {
  const exitCode = PROBLEM_CODES.find((code) => checked.some((finding) => finding.exitCode === code)) ?? 0;
  return {
    schemaVersion: 1,
    ready: exitCode === 0,
    exitCode,
    findings: checked.map(({ correction: _, ...finding }) => finding),
    corrections: checked.flatMap(({ correction }) => correction ?? []),
  };
}

export function renderDiagnosis({ findings, corrections, ready }: Diagnosis, width: number): string {
  const lines = findings.flatMap(({ area, level, text, fix }, index) => [
    ...(findings[index - 1]?.area === area ? [] : [`${area}\n`]),
    `  ${MARKS[level]} ${wrapText(escapeLines(text), width, INDENT).join('\n').trimStart()}\n`,
    ...(fix === null ? [] : [wrapLines([`${INDENT}→ ${escapeUnseen(fix)}`], width)]),
  ]);
  const toDo = `${corrections.length === 0 ? 'fix each PROBLEM' : 'fix each PROBLEM, paste these lines'}, then svc-migrate doctor`;
  const verdict = [ready ? 'READY' : 'NOT READY', `Next: ${ready ? 'svc-migrate run' : toDo}`];
  return lines.join('') + renderPaste(corrections) + wrapLines(verdict, width);
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
