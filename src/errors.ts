/**
 * The program's errors. They are thrown once, where the facts are known, with a stable code, one sentence, a hint and
 * the facts, and printed once, in `program.ts`.
 */

/** Exit code of each error code; part of the contract with users. */
export const EXIT_BY_CODE = {
  usage: 2,
  config: 2,
  redirect: 2,
  auth: 3,
  network: 4,
  timeout: 4,
  /** A status that another attempt may change, such as 429 and 503. */
  unavailable: 4,
  /** A status by which the service refuses the request itself, such as 400: running again does not help. */
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
  resources: 6,
  apply_stopped: 7,
  internal: 70,
  interrupted: 130,
} as const;

export type ErrorCode = keyof typeof EXIT_BY_CODE;

/** They never contain secrets or bodies. */
export interface ErrorFacts {
  readonly [name: string]: string | number | bigint | null | undefined;
}

export interface SvcErrorOptions {
  readonly hint?: string | undefined;
  readonly facts?: ErrorFacts | undefined;
  readonly cause?: unknown;
}

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

export function exitCodeOf(error: unknown): number {
  return expectedError(error)?.exitCode ?? EXIT_BY_CODE.internal;
}

/** Converts anything thrown to an expected error; null for a bug. */
export function expectedError(error: unknown): SvcError | null {
  return error instanceof SvcError ? error : resourceError(error);
}

export async function orError<T>(work: () => T | Promise<T>): Promise<T | SvcError> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SvcError) return error;
    throw error;
  }
}

/** Yields to the event loop once, so that pending signals are handled. @throws SvcError `interrupted` */
export async function throwIfInterrupted(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resume) => setImmediate(resume));
  if (signal.aborted) throw new SvcError('interrupted', 'Stopped before the end.');
}

/** Error codes for exhausted resources, each with the rest of a sentence that begins with `The system`, and a hint. */
const RESOURCES: Readonly<Record<string, readonly [what: string, hint: string]>> = {
  EMFILE: ['allows this process no more open files', 'Raise the limit (ulimit -n).'],
  ENFILE: ['has reached its limit of open files', 'Close other programs, or raise the limit of the system.'],
  ENOMEM: [
    'has no memory left for this process',
    'Free memory, or raise the limit (ulimit -v, or that of the container).',
  ],
  EAGAIN: ['has no resources left for this process', 'Raise its limits (ulimit -a, or the container).'],
};

const FILE_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  EACCES: 'this user has no permission',
  EPERM: 'the system does not permit it',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is a file, not a folder',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EFBIG: 'it would be too large',
  ENAMETOOLONG: 'its name is too long',
  ELOOP: 'its symbolic links form a loop',
  ENOEXEC: 'it is not a program',
};

/** Why a file could not be read or written, as the end of a sentence: `it does not exist`. */
export function describeFileError(error: unknown): string {
  const code = errorCodeOf(error);
  return FILE_ERRORS[code] ?? code;
}

/** The code of an error of the system or of Node, such as `ENOSPC`; other errors as text. */
export function errorCodeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

function resourceError(error: unknown): SvcError | null {
  if (!(error instanceof Error)) return null;
  const [what, hint] = RESOURCES[isOutOfMemory(error) ? 'ENOMEM' : errorCodeOf(error)] ?? [];
  if (what === undefined) return null;
  return new SvcError('resources', `The system ${what}.`, {
    hint,
    facts: { error: error.message },
    cause: error,
  });
}

function isOutOfMemory(error: Error): boolean {
  if (errorCodeOf(error) === 'ERR_MEMORY_ALLOCATION_FAILED') return true;
  return error instanceof RangeError && OUT_OF_MEMORY.test(error.message);
}

/** V8's messages if it cannot allocate memory for a buffer or for WebAssembly. */
const OUT_OF_MEMORY = /out of memory|allocation failed|could not allocate/i;

const REQUEST_ERRORS: readonly ErrorCode[] = [
  'network',
  'timeout',
  'unavailable',
  'http_status',
  'bad_response',
  'body_too_large',
  'wait_too_long',
];

export function isNotFound(error: unknown): error is SvcError {
  return error instanceof SvcError && error.code === 'http_status' && error.facts['status'] === 404;
}

/** Whether an error concerns a single request, so that others may still succeed. */
export function isRequestError(error: unknown): error is SvcError {
  return error instanceof SvcError && REQUEST_ERRORS.includes(error.code);
}
