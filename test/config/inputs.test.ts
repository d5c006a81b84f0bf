import { describe, expect, it } from 'vitest';
import { buildFingerprint } from '../../src/config/config.js';
import { MINIMAL, sampleConfig } from './sample.js';

const base = buildFingerprint(sampleConfig());

function changed(more: Readonly<Record<string, unknown>>): string[] {
  const other = buildFingerprint(sampleConfig(more));
  const names = new Set([...Object.keys(base), ...Object.keys(other)]);
  return [...names].filter((name) => base[name] !== other[name]);
}

describe('buildFingerprint', () => {
  it.each([
    [
      'another V3 host',
      { v3: { regions: { default: { baseUrl: 'https://other' } } } },
      ['v3.regions.default'],
    ],
    ['another V4 host', { v4: { baseUrl: 'https://other' } }, ['v4.baseUrl']],
    ['another prefix', { fieldPrefix: 'x_' }, ['fieldPrefix']],
    ['split V3 lists', { v3: { ...MINIMAL.v3, companies: [2, 1] } }, ['v3.companies']],
    ['excluded companies', { companies: { exclude: [1] } }, ['companies.exclude']],
    ['other date fields', { backfill: { dateFields: ['created_at'] } }, ['backfill.dateFields']],
    ['V4 companies', { v4: { ...MINIMAL.v4, companies: ['5'] } }, ['v4.companies']],
    ['V4 without deleted records', { v4: { ...MINIMAL.v4, includeDeleted: false } }, ['v4.includeDeleted']],
  ])('tells %s', (_, more, names) => {
    expect(changed(more)).toEqual(names);
  });

  it('tells another V4 name from another expansion, which concerns both sides', () => {
    const one = buildFingerprint(sampleConfig({ models: [{ v3: 'a/b', v4: 'x' }] }));
    const two = buildFingerprint(sampleConfig({ models: [{ v3: 'a/b', v4: 'y' }] }));
    const three = buildFingerprint(sampleConfig({ models: [{ v3: 'a/b', v4: 'x', expand: ['c'] }] }));
    expect(Object.keys(one).filter((name) => one[name] !== two[name])).toEqual(['v4.models.a/b']);
    expect(Object.keys(one).filter((name) => one[name] !== three[name])).toEqual(['models.a/b']);
  });

  it('does not depend on how an address is written', () => {
    const v3 = { regions: { default: { baseUrl: 'HTTPS://V3.example.:443/v3/' } } };
    expect(changed({ v3, v4: { baseUrl: 'https://V4.%65xample:443' } })).toEqual([]);
  });

  it('does not depend on speed, keys, limits or the order of ids', () => {
    const v3 = {
      regions: { default: { ...MINIMAL.v3.regions.default, apiKeyEnv: 'OTHER' } },
      pageSize: 1,
      concurrency: 1,
      requestsPerSecond: 1,
    };
    const more = { v3, limits: { drift: 1 }, maxAge: '1h', http: { attempts: 1 }, database: 'x.db' };
    expect(changed(more)).toEqual([]);
    const companies = (ids: readonly number[]) =>
      buildFingerprint(sampleConfig({ companies: { include: ids } }));
    expect(companies([1, 10, 2])).toEqual(companies([10, 2, 1]));
  });
});
