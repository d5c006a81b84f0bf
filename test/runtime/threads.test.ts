import { describe, expect, it } from 'vitest';
import { SvcError } from '../../src/errors.js';
import { flattenError, restoreError } from '../../src/runtime/channel.js';

function causesOf(error: unknown): unknown[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : [];
}

describe('an error that crosses threads', () => {
  it.each([
    ['of a resource', new RangeError('WebAssembly.instantiate(): Out of memory'), ['resources', null]],
    ['of the program', new TypeError('no such thing'), [null]],
    [
      'with an expected cause',
      new SvcError('network', 'No answer.', { cause: new SvcError('timeout', 'Too late.') }),
      ['network', 'timeout'],
    ],
    [
      'with an unexpected cause',
      new SvcError('cursor_loop', 'Damaged.', { cause: new Error('disk I/O') }),
      ['cursor_loop', null],
    ],
  ])('%s keeps its code and its causes', (_, error, codes) => {
    const restored = restoreError(structuredClone(flattenError(error)));
    const found = causesOf(restored).map((one) => (one instanceof SvcError ? one.code : null));
    expect(found).toEqual(codes);
  });
});
