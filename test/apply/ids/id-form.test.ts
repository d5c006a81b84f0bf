import { describe, expect, it } from 'vitest';
import { invalidFormOf, isIdText } from '../../../src/apply/ids/model-ids.js';

describe('id forms', () => {
  it.each(['0', '7', '-5', '42', '9007199254740993', '9223372036854775807', '-9223372036854775808'])(
    'takes %s for an id',
    (text) => expect(isIdText(text)).toBe(true),
  );

  it.each([
    ['42.0', 'decimal'],
    ['42.', 'decimal'],
    ['4.2e1', 'exponent'],
    ['1E3', 'exponent'],
    ['0042', 'leading_zeros'],
    ['00', 'leading_zeros'],
    ['+42', 'signed'],
    ['-0', 'signed'],
    ['0x2A', 'hex'],
    ['1,234', 'grouped_digits'],
    ['1 234 567', 'grouped_digits'],
    ['9223372036854775808', 'beyond_64_bits'],
    ['99999999999999999999999', 'beyond_64_bits'],
    [' 42', 'spaces_around'],
    ['42\t', 'spaces_around'],
    ['42a', 'not_a_number'],
    ['', 'not_a_number'],
    ['٤٢', 'not_a_number'],
    ['NaN', 'not_a_number'],
  ])('names %j as %s and never as an id', (text, form) => {
    expect(isIdText(text)).toBe(false);
    expect(invalidFormOf(text)).toBe(form);
  });
});
