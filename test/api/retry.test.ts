import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { faultOf } from '../../src/api/failures.js';
import type { AttemptOutcome } from '../../src/api/http.js';
import { backoffMs, parseRequestedWait } from '../../src/api/retry.js';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const NO_HEADERS = { retryAfter: null, rateLimitReset: null, date: null, location: null };

function answer(status: number): AttemptOutcome {
  return {
    kind: 'answer',
    status,
    headers: NO_HEADERS,
    body: { decoded: new Uint8Array(), gzip: null },
  };
}

describe('an answer', () => {
  it.each([
    [201, 'bad_response', true],
    [204, 'bad_response', true],
    [206, 'bad_response', true],
    [301, 'redirect', false],
    [302, 'redirect', false],
    [304, 'redirect', false],
    [307, 'redirect', false],
    [308, 'redirect', false],
    [400, 'http_status', false],
    [401, 'auth', false],
    [403, 'auth', false],
    [404, 'http_status', false],
    [407, 'http_status', false],
    [408, 'unavailable', true],
    [409, 'http_status', false],
    [410, 'http_status', false],
    [418, 'http_status', false],
    [422, 'http_status', false],
    [425, 'http_status', false],
    [429, 'unavailable', true],
    [500, 'unavailable', true],
    [501, 'http_status', true],
    [502, 'unavailable', true],
    [503, 'unavailable', true],
    [504, 'unavailable', true],
    [599, 'unavailable', true],
  ])('of status %i is %s, which may pass: %s', (status, code, isPassing) => {
    expect(faultOf(answer(status))).toEqual({ code, isPassing });
  });

  it.each([
    ['network', 'network', true],
    ['timeout', 'timeout', true],
    ['broken_body', 'bad_response', true],
    ['body_too_large', 'body_too_large', false],
    ['tls', 'network', false],
  ] as const)('that fails by %s is %s, which may pass: %s', (failure, code, isPassing) => {
    expect(faultOf({ kind: 'failure', failure, detail: '' })).toEqual({ code, isPassing });
  });
});

describe('backoffMs', () => {
  it.each([
    [1, 500],
    [2, 1000],
    [3, 2000],
    [6, 16_000],
    [7, 30_000],
    [50, 30_000],
    [5000, 30_000],
  ])('after attempt %i is anything below %i ms', (attempt, cap) => {
    expect(backoffMs(attempt, () => 0)).toBe(0);
    expect(backoffMs(attempt, () => 0.5)).toBe(cap / 2);
    expect(backoffMs(attempt, () => 1 - 2 ** -53)).toBeLessThan(cap);
  });
});

function parseRetryAfter(retryAfter: string | null, nowMs: number): number {
  return parseRequestedWait({ status: 503, headers: { ...NO_HEADERS, retryAfter } }, nowMs);
}

describe('the end of a rate window', () => {
  it.each([
    ['seconds to wait', 429, null, '60', 60_000],
    ['seconds since 1970', 429, null, String(NOW / 1000 + 60), 60_000],
    ['milliseconds since 1970', 429, null, String(NOW + 60_000), 60_000],
    ['a moment in the past', 429, null, String(NOW / 1000 - 60), 0],
    ['no number', 429, null, 'soon', 0],
    ['a year 5195', 429, null, '101772860400', 101_772_860_400_000 - NOW],
    ['a Retry-After beside it, which counts', 429, '5', '60', 5000],
    ['another status, where it says nothing', 503, null, '60', 0],
  ])('as %s', (_name, status, retryAfter, rateLimitReset, waitMs) => {
    const headers = { ...NO_HEADERS, retryAfter, rateLimitReset };
    expect(parseRequestedWait({ status, headers }, NOW)).toBe(waitMs);
  });
});

describe('Retry-After', () => {
  it.each([
    ['0', 0],
    ['1', 1000],
    [' 120 ', 120_000],
    ['007', 7000],
    ['1.5', 1500],
    ['0.0001', 1],
    ['99999999999999999999', Number.MAX_SAFE_INTEGER],
    ['9'.repeat(400), Number.MAX_SAFE_INTEGER],
    ['Sun, 01 Mar 2026 12:00:30 GMT', 30_000],
    ['Sun, 01 Mar 2026 12:00:00 GMT', 0],
  ])('"%s" asks for %i ms', (header, ms) => {
    expect(parseRetryAfter(header, NOW)).toBe(ms);
  });

  it.each([
    null,
    '',
    ' ',
    '-1',
    '+1',
    '1s',
    '1e3',
    '0x10',
    'soon',
    'NaN',
    'Infinity',
    '1,2',
    '5, 10',
    '１２',
    'Sun, 01 Mar 2026 11:59:59 GMT',
    'Sun, 01 Mar 2020 12:00:30 GMT',
    'Sun, 31 Feb 2026 12:00:30 GMT',
    'Sun, 01 Mar 2026 24:00:30 GMT',
    'Sun, 01 Mar 2026 12:60:30 GMT',
    'Sun, 01 Mar 2026 12:00:30 CET',
    'Sun, 01 Mar 2026 12:00:30',
    '2026-03-01T12:00:30Z',
    'Sun, 1 Mar 2026 12:00:30 GMT',
    'Foo, 01 Mar 2026 12:00:30 GMT',
  ])('%j asks for nothing', (header) => {
    expect(parseRetryAfter(header, NOW)).toBe(0);
  });

  it('is never negative, never NaN, and never earlier than the date it names', () => {
    const header = fc.oneof(
      fc.string(),
      fc.nat().map(String),
      fc
        .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
        .map((date) => date.toUTCString()),
    );
    fc.assert(
      fc.property(header, fc.integer({ min: 0, max: 4_000_000_000_000 }), (text, now) => {
        const ms = parseRetryAfter(text, now);
        expect(ms).toBeGreaterThanOrEqual(0);
        if (/GMT$/.test(text) && ms > 0) expect(now + ms).toBeGreaterThanOrEqual(Date.parse(text));
      }),
    );
  });
});
