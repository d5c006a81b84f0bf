/**
 * One error family. Thrown once, where the facts are known, with a stable code, one sentence, the fix
 * and the facts; printed once, in `cli.ts`.
 */

/** Exit code of each error code; the list is the product's contract. */
export const EXIT_BY_CODE = {
  usage: 2,
  config: 2,
  redirect: 2,
  auth: 3,
  network: 4,
  timeout: 4,
  http_status: 4,
  bad_response: 4,
  body_too_large: 4,
  wait_too_long: 4,
  cursor_loop: 4,
  cursor_expired: 4,
  no_progress: 4,
  incomplete: 4,
  not_settled: 5,
  locked: 6,
  not_our_database: 6,
  newer_database: 6,
  older_database: 6,
  corrupt_database: 6,
  disk: 6,
  sqlite_missing: 6,
  other_configuration: 6,
  bad_input: 6,
  output: 6,
  apply_stopped: 7,
  internal: 70,
  interrupted: 130,
} as const;

export type ErrorCode = keyof typeof EXIT_BY_CODE;

/** Where an error happened: never a secret, never a body. */
export interface ErrorFacts {
  readonly [name: string]: string | number | bigint | null | undefined;
}

export interface SvcErrorOptions {
  /** What the user does about it, as one sentence. */
  readonly hint?: string | undefined;
  readonly facts?: ErrorFacts | undefined;
  readonly cause?: unknown;
}

/** An error the product expects: it has a code, an exit code and a hint. */
export class SvcError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly facts: ErrorFacts;

  constructor(code: ErrorCode, sentence: string, options: SvcErrorOptions = {}) {
    super(sentence, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'SvcError';
    this.code = code;
    this.hint = options.hint;
    this.facts = options.facts ?? {};
  }

  get exitCode(): number {
    return EXIT_BY_CODE[this.code];
  }
}

/** Exit code of anything thrown: 70 for errors nobody foresaw. */
export function exitCodeOf(error: unknown): number {
  return error instanceof SvcError ? error.exitCode : EXIT_BY_CODE.internal;
}

const REQUEST_ERRORS: readonly ErrorCode[] = [
  'network',
  'timeout',
  'http_status',
  'bad_response',
  'body_too_large',
  'wait_too_long',
];

/** Whether an error concerns what was asked for and no more: others may still be answered. */
export function isRequestError(error: unknown): error is SvcError {
  return error instanceof SvcError && REQUEST_ERRORS.includes(error.code);
}
