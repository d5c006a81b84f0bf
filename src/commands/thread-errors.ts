import { type ErrorCode, type ErrorFacts, exitCodeOf, SvcError } from '../errors.js';

/** An error on its way from another thread, where it loses its class. */
export type ThreadError =
  | {
      readonly kind: 'error';
      readonly code: ErrorCode;
      readonly message: string;
      readonly hint: string | undefined;
      readonly facts: ErrorFacts;
    }
  | { readonly kind: 'bug'; readonly stack: string; readonly exitCode: number };

export function flattenError(error: unknown): ThreadError {
  if (!(error instanceof SvcError)) {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { kind: 'bug', stack, exitCode: exitCodeOf(error) };
  }
  const { code, message, hint, facts } = error;
  return { kind: 'error', code, message, hint, facts };
}

export function restoreError(message: ThreadError): Error {
  if (message.kind === 'error') return new SvcError(message.code, message.message, message);
  const error = new Error(message.stack.split('\n')[0]);
  error.stack = message.stack;
  return error;
}
