import type { Config } from '../../src/config/config.js';
import { config, pair } from './config.js';
import { createFakeService, type FakeRecord, type FakeService } from './fake-service.js';

export function killConfig(): Config {
  return config({ models: [pair('a/x'), pair('b/y')] });
}

/** The same service each time: two models, pages of three, records that come twice, children. */
export function killService(): FakeService {
  const service = createFakeService({
    'v3 eu a/x all': records(8),
    'v3 eu b/y all': [...records(5), ...records(3)],
    'v4  a/x 7': records(7),
    'v4  b/y 7': records(9),
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
  });
  for (const companyId of [7n, 8n]) service.companies.push({ companyId, raw: Buffer.from('{}') });
  return service;
}

function records(count: number): FakeRecord[] {
  return Array.from({ length: count }, (_, at) => {
    const children = [{ svcId: BigInt(at), platformId: `line ${at}` }];
    return { svcId: BigInt(100 + at), companyId: 7n, platformId: `p${at}`, updatedMs: 5, children };
  });
}
