/** One thing that `doctor` found. */
export interface Finding {
  /** `problem`: not ready until it is fixed. */
  readonly level: 'ok' | 'note' | 'warning' | 'problem';
  readonly area: string;
  /** Stable, for programs. */
  readonly code: string;
  readonly text: string;
  /** What to do about it. */
  readonly fix: string | null;
  /** For problems: the exit code of the kind of problem. */
  readonly exitCode: ProblemCode | null;
}

/** 2 configuration, 3 key refused, 4 network, 5 V4 not ready, 6 this machine. */
export type ProblemCode = 2 | 3 | 4 | 5 | 6;

/** A setting that the answers of the services correct. */
export interface Correction {
  /** Its path in the configuration. */
  readonly path: readonly string[];
  readonly value: unknown;
}

export interface Findings {
  ok(code: string, text: string): void;
  note(code: string, text: string, fix?: string): void;
  warning(code: string, text: string, fix: string): void;
  problem(code: string, exitCode: ProblemCode, text: string, fix: string): void;
  correct(path: readonly string[], value: unknown): void;
}

export function collectFindings(area: string, findings: Finding[], corrections: Correction[]): Findings {
  const add = (
    level: Finding['level'],
    code: string,
    text: string,
    fix: string | null,
    exitCode: ProblemCode | null,
  ) => void findings.push({ level, area, code, text, fix, exitCode });
  return {
    ok: (code, text) => add('ok', code, text, null, null),
    note: (code, text, fix) => add('note', code, text, fix ?? null, null),
    warning: (code, text, fix) => add('warning', code, text, fix, null),
    problem: (code, exitCode, text, fix) => add('problem', code, text, fix, exitCode),
    correct: (path, value) => void corrections.push({ path, value }),
  };
}

/** Exit codes by precedence, if there are several kinds of problems. */
const PRECEDENCE = [3, 2, 6, 4, 5] as const satisfies readonly ProblemCode[];

/** 0 without a problem. */
export function judgeFindings(findings: readonly Finding[]): 0 | ProblemCode {
  const codes = new Set(findings.map(({ exitCode }) => exitCode));
  return PRECEDENCE.find((code) => codes.has(code)) ?? 0;
}
