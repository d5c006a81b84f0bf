import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scrubber } from '../../src/api/failures.js';
import { campaignSize } from '../support/campaign.js';

const KEY = 'sk_live/+a"b&c<d>=42';

describe('scrub', () => {
  it.each([
    ['as it is', KEY],
    ['in capitals', KEY.toUpperCase()],
    ['in a URL', encodeURIComponent(KEY)],
    ['in a URL with small hex digits', encodeURIComponent(KEY).replace(/%../g, (hex) => hex.toLowerCase())],
    ['in JSON', JSON.stringify(KEY).slice(1, -1)],
    [
      'in HTML',
      KEY.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
    ],
    ['in JSON with escaped slashes', JSON.stringify(KEY).slice(1, -1).replaceAll('/', '\\/')],
    [
      'in JSON, every character',
      [...KEY].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
    ],
    ['in a URL, every character', [...Buffer.from(KEY)].map((byte) => `%${byte.toString(16)}`).join('')],
    ['in HTML, every character', [...KEY].map((one) => `&#${one.charCodeAt(0)};`).join('')],
    ['half escaped', KEY.replace('/', '%2F').replace('"', '\\"').replace('<', '&lt;')],
    ['in base64', Buffer.from(KEY).toString('base64')],
    ['in base64url', Buffer.from(KEY).toString('base64url')],
    ['in hex', Buffer.from(KEY).toString('hex')],
    ['with control characters in it', [...KEY].join('\u0000')],
    ['with invisible characters in it', [...KEY].join('\u200b')],
  ])('hides a key %s', (_name, echoed) => {
    const text = scrubber([KEY, 'other'])(`bad key ${echoed} given, twice: ${echoed}`);
    expect(text).toBe('bad key [key] given, twice: [key]');
  });

  it('hides a key whole that holds another', () => {
    expect(scrubber(['abc', 'abcdef'])('abcdef abc')).toBe('[key] [key]');
  });

  it('hides every key', () => {
    expect(scrubber(['alpha-key', 'beta-key'])('alpha-key beta-key')).toBe('[key] [key]');
  });

  it('takes out what could steer a terminal', () => {
    expect(scrubber([])('a\u001b[31mred\u0007\r\n\u202eb\u2028c\u009b')).toBe('a[31mredbc');
  });

  it('leaves other text alone, without keys and with empty ones', () => {
    expect(scrubber([])('x y')).toBe('x y');
    expect(scrubber([''])('x y')).toBe('x y');
  });

  it('leaves no key of any kind in any text', () => {
    const key = fc.string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
      minLength: 8,
    });
    fc.assert(
      fc.property(key, fc.string(), fc.string(), (secret, before, after) => {
        const marker = '[key]';
        fc.pre(!marker.includes(secret));
        expect(scrubber([secret])(`${before}${secret}${after}`).replaceAll(marker, '\n')).not.toContain(
          secret,
        );
      }),
      { numRuns: campaignSize({ small: 20, full: 500 }) },
    );
  });
});
