import { expect, it } from 'vitest';
import {
  baseUrlProblem,
  comparableAddress,
  comparableHost,
  regionsProblem,
} from '../../src/text/addresses.js';

it.each([
  ['https://api.example.com/v3', 'api.example.com'],
  ['https://API.Example.com:443/v3', 'api.example.com'],
  ['http://api.example.com:80', 'api.example.com'],
  ['https://api.example.com:80', 'api.example.com:80'],
  ['https://api.example.com.', 'api.example.com'],
  ['https://api.example.com.:8443', 'api.example.com:8443'],
  ['https://user:secret@api.example.com', 'api.example.com'],
  ['https://%61pi%2Eexample.com', 'api.example.com'],
  ['//api.example.com/v3', 'api.example.com'],
  ['API.example.com:443', 'api.example.com'],
  ['https://[2001:DB8:0:0::1]:443', '[2001:db8::1]'],
  ['2001:DB8::1', '[2001:db8::1]'],
  ['https://127.1', '127.0.0.1'],
  ['https://münchen.example', 'xn--mnchen-3ya.example'],
  ['https://.', null],
  ['https://', null],
  ['', null],
  ['a b', null],
] as const)('the host of %j is compared as %j', (address, host) => {
  expect(comparableHost(address)).toBe(host);
});

it('an address keeps its scheme and path', () => {
  expect(comparableAddress('HTTPS://API.example.com.:443/V3/')).toBe('https://api.example.com/V3');
  expect(comparableAddress('nonsense at all')).toBe('nonsense at all');
});

it('the address of a service is refused with more than it may hold', () => {
  const more = [
    'https:/a',
    'ftp://a',
    'a',
    'https://user@a',
    'https://:secret@a',
    'https://a?',
    'https://a#',
  ];
  for (const text of more) expect([text, baseUrlProblem(text)]).toEqual([text, expect.any(String)]);
  expect(regionsProblem('eu=https://a,eu=https://b')).toContain('each region once');
});
