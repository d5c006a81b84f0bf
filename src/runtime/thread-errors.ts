import { type ErrorCode, type ErrorFacts, expectedError, SvcError } from '../errors.js';

/** An error on its way from another thread, where it loses its class. */
export type ThreadError =
  | {
      readonly kind: 'error';
      readonly code: ErrorCode;
      readonly message: string;
      readonly hint: string | undefined;
      readonly facts: ErrorFacts;
      readonly stack: string;
      readonly cause: ThreadError | undefined;
    }
  | { readonly kind: 'bug'; readonly stack: string };

export function flattenError(thrown: unknown): ThreadError {
  const stack = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  const error = expectedError(thrown);
  if (error === null) return { kind: 'bug', stack };
  const { code, message, hint, facts } = error;
  const cause = error.cause === undefined ? undefined : flattenError(error.cause);
  return { kind: 'error', code, message, hint, facts, stack, cause };
}

/** The error with the stack and the causes it had where it was thrown. */
export function restoreError(told: ThreadError): Error {
  const error = told.kind === 'error' ? restoreOurs(told) : new Error(told.stack.split('\n')[0]);
  error.stack = told.stack;
  return error;
}

function restoreOurs({ code, message, hint, facts, cause }: ThreadError & { kind: 'error' }): SvcError {
  const restored = cause === undefined ? undefined : restoreError(cause);
  return new SvcError(code, message, { hint, facts, cause: restored });
}
