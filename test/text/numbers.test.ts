import { expect, it } from 'vitest';
import { formatBytes, formatDuration, formatShare, parseDuration } from '../../src/text/numbers.js';

it.each([
  [formatShare(0, 9), '0 %'],
  [formatShare(1, 9999), '<0.1 %'],
  [formatShare(9999, 10_000), '99.9 %'],
  [formatShare(9, 9), '100 %'],
  [formatDuration(59_999), '59 s'],
  [formatDuration(250.5), '250 ms'],
  [formatDuration(0.5), '0 s'],
  [formatDuration(93_784_000), '1 d 2 h'],
  [formatDuration(86_460_000), '1 d'],
  [formatBytes(9.5), '10 bytes'],
  [formatBytes(1536), '1.5 KiB'],
  [parseDuration('0.001s'), 1],
  [parseDuration('1.5ms'), 2],
])('%s is %s', (written, expected) => expect(written).toBe(expected));
