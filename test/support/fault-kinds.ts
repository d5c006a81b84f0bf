import type { ErrorCode } from '../../src/errors.js';
import type { Strike } from './fault-server.js';

/** Where in a list a fault strikes, and how often. */
export type Position = 'first' | 'middle' | 'last';
export type Persistence = 'once' | 'until the last attempt' | 'for ever';

/**
 * What must come of it. `same`: the export ends by itself and the remap is that of an undisturbed run. An
 * error code: it ends with that one. The others are states that a finished export shows: never silent.
 */
export type Expected = 'same' | ErrorCode | 'short' | 'absent' | 'rejected';

export interface FaultKind {
  readonly name: string;
  readonly strike: Strike;
  /** It takes until the deadline of the request each time. */
  readonly slow?: true;
  /** It needs the cursor of an earlier page. */
  readonly notFirst?: true;
  /** It is about answers of this generation only. */
  readonly only?: 'v3' | 'v4';
  expect(persistence: Persistence, position: Position): Expected;
}

type Options = Pick<FaultKind, 'slow' | 'notFirst' | 'only'>;

/** A fault that another attempt may get over. */
export function retried(name: string, code: ErrorCode, strike: Strike, options: Options = {}): FaultKind {
  return {
    name,
    strike,
    ...options,
    expect: (persistence) => (persistence === 'for ever' ? code : 'same'),
  };
}

/** A fault that asking again does not mend. */
export function fatal(name: string, code: ErrorCode, strike: Strike, options: Options = {}): FaultKind {
  return { name, strike, ...options, expect: () => code };
}

/** An answer that is unusual and right. */
export function harmless(name: string, strike: Strike, options: Options = {}): FaultKind {
  return { name, strike, ...options, expect: () => 'same' };
}
