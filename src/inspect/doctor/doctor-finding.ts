/** The result of one check. */
export interface Finding {
  /** `problem`: not ready until it is fixed. */
  readonly level: 'ok' | 'note' | 'warning' | 'problem';
  readonly area: Area;
  /** A stable code for programs. */
  readonly code: string;
  /** What was found, as one sentence. */
  readonly text: string;
  /** What to do about it, as one sentence. */
  readonly fix?: string;
  /** Only for problems: the exit code of the kind of problem. */
  readonly exitCode?: ProblemCode;
}

/** 2 configuration, 3 key refused, 4 network, 5 V4 not there yet, 6 this machine. */
export type ProblemCode = 2 | 3 | 4 | 5 | 6;

/** Areas, in the order of the output. */
const AREAS = [
  'program',
  'configuration',
  'keys',
  'V3',
  'V4',
  'models',
  'parameters',
  'pages',
  'clock',
  'companies',
  'backfill',
  'disk',
  'database',
  'targets',
] as const;
export type Area = (typeof AREAS)[number];

/** Exit codes by precedence, if there are several kinds of problems. */
const PRECEDENCE = [3, 2, 6, 4, 5] as const satisfies readonly ProblemCode[];

/** A finding that needs nothing to be done. */
export function ok(area: Area, code: string, text: string): Finding {
  return { level: 'ok', area, code, text };
}

export function note(area: Area, code: string, text: string, fix?: string): Finding {
  return { level: 'note', area, code, text, ...(fix === undefined ? {} : { fix }) };
}

export function warning(area: Area, code: string, text: string, fix: string): Finding {
  return { level: 'warning', area, code, text, fix };
}

export function problem(area: Area, code: string, exitCode: ProblemCode, text: string, fix: string): Finding {
  return { level: 'problem', area, code, text, fix, exitCode };
}

/** Sorts findings by area; the order within an area stays. */
export function sortFindings(findings: readonly Finding[]): readonly Finding[] {
  return [...findings].sort((a, b) => AREAS.indexOf(a.area) - AREAS.indexOf(b.area));
}

/** The exit code: 0 without a problem. */
export function judgeFindings(findings: readonly Finding[]): 0 | ProblemCode {
  const codes = new Set(findings.map(({ exitCode }) => exitCode));
  return PRECEDENCE.find((code) => codes.has(code)) ?? 0;
}
