import type { SvcError } from '../errors.js';

export interface Correction {
  readonly path: readonly string[];
  readonly value: unknown;
}

export interface Finding {
  /** `problem`: not ready until it is fixed. */
  readonly level: 'ok' | 'note' | 'warning' | 'problem';
  /** Stable, for programs. */
  readonly code: string;
  readonly text: string;
  readonly fix: string | null;
  /** For problems: the exit code of the kind of problem. */
  readonly exitCode: ProblemCode | null;
  readonly correction: Correction | null;
}

/** Of several, the first decides: 3 key refused, 2 configuration, 6 this machine, 4 network, 5 V4 not ready. */
export const PROBLEM_CODES = [3, 2, 6, 4, 5] as const;
export type ProblemCode = (typeof PROBLEM_CODES)[number];

const PLAIN = { fix: null, exitCode: null, correction: null } as const;

export function ok(code: string, text: string): Finding {
  return { ...PLAIN, level: 'ok', code, text };
}

export function note(code: string, text: string, correction: Correction | null = null): Finding {
  return { ...PLAIN, level: 'note', code, text, correction };
}

export function warning(code: string, text: string, fix: string): Finding {
  return { ...PLAIN, level: 'warning', code, text, fix };
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
