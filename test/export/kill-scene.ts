import type { Config } from '../../src/config/config.js';
import { config, pair } from './config.js';
import { createFakeService, type FakeRecord, type FakeService } from './fake-service.js';

/** `v3Companies`: how long V3 lists are read. */
export function killConfig(v3Companies: 'auto' | [] = 'auto'): Config {
  return config({
    models: ['a/x', 'b/y', 'c/divided', 'd/undivided'].map((v3) => pair(v3)),
    v3Companies,
  });
}

/**
 * The same service each time: pages of three, records that come twice, children. Of the two long lists of V3, one is read
 * company by company to its end; the other holds a company that shows up late, so that it is read as one list after all.
 */
export function killService(): FakeService {
  const service = createFakeService({
    'v3 eu a/x all': records(8),
    'v3 eu b/y all': [...records(5), ...records(3)],
    'v3 eu c/divided all': mixed([7n, 8n]),
    'v3 eu c/divided 7': mixed([7n, 8n]).filter(({ companyId }) => companyId === 7n),
    'v3 eu c/divided 8': mixed([7n, 8n]).filter(({ companyId }) => companyId === 8n),
    'v3 eu d/undivided all': [...mixed([7n, 8n]), ...late()],
    'v3 eu d/undivided 7': mixed([7n, 8n]).filter(({ companyId }) => companyId === 7n),
    'v3 eu d/undivided 8': mixed([7n, 8n]).filter(({ companyId }) => companyId === 8n),
    'v4  a/x 7': records(7),
    'v4  b/y 7': records(9),
    'v4  c/divided 7': records(1),
    'v4  d/undivided 7': records(1),
  });
  service.companies.push({ companyId: 7n, raw: Buffer.from('{}') });
  return service;
}

/** What an older export had read: other records, more lists of V4. */
export function olderService(): FakeService {
  const older = (count: number) => [
    ...records(2),
    ...records(count).map((one) => ({ ...one, svcId: one.svcId + 900n })),
  ];
  const service = createFakeService({
    'v4  a/x 7': older(5),
    'v4  b/y 7': older(2),
    'v4  a/x 8': older(4),
    'v4  b/y 8': older(1),
    ...Object.fromEntries(
      ['c/divided 7', 'd/undivided 7', 'c/divided 8', 'd/undivided 8'].map((list) => [
        `v4  ${list}`,
        older(1),
      ]),
    ),
  });
  for (const companyId of [7n, 8n]) service.companies.push({ companyId, raw: Buffer.from('{}') });
  return service;
}

/** Records of these companies in turn. */
function mixed(companies: readonly bigint[]): FakeRecord[] {
  return records(26).map((one, at) => ({ ...one, companyId: companies[at % companies.length] ?? 0n }));
}

function late(): FakeRecord[] {
  return records(2).map((one) => ({ ...one, svcId: one.svcId + 500n, companyId: 9n }));
}

function records(count: number): FakeRecord[] {
  return Array.from({ length: count }, (_, at) => {
    const children = [{ svcId: BigInt(at), platformId: `line ${at}` }];
    return { svcId: BigInt(100 + at), companyId: 7n, platformId: `p${at}`, updatedMs: 5, children };
  });
}
