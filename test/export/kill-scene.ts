import type { Config } from '../../src/config/config.js';
import { config, pair } from './config.js';
import { createFakeService, type FakeRecord, type FakeService } from './fake-service.js';

export function killConfig(): Config {
  return config({ models: ['a/x', 'b/y', 'c/short'].map((v3) => pair(v3)) });
}

/** The same service each time: pages of three, records that come twice, children, a list that is short of its count. */
export function killService(): FakeService {
  const service = createFakeService({
    'v3 eu a/x all': records(8),
    'v3 eu b/y all': [...records(5), ...records(3)],
    'v3 eu c/short all': records(7),
    'v4  a/x 7': records(7),
    'v4  b/y 7': records(9),
    'v4  c/short 7': records(5),
  });
  service.companies.push(7n);
  service.totalCount = (exact, { request }) => exact + (request.stream.model === 'c/short' ? 2 : 0);
  return service;
}

/** What an older export had read: other records, more lists of V4. */
export function olderService(): FakeService {
  const older = (count: number) => [
    ...records(2),
    ...records(count).map((record) => ({ ...record, svcId: record.svcId + 900n })),
  ];
  const models = ['a/x', 'b/y', 'c/short'];
  const lists = models.flatMap((model) => [
    [`v3 eu ${model} all`, older(4)],
    [`v4  ${model} 7`, older(5)],
    [`v4  ${model} 8`, older(1)],
  ]);
  const service = createFakeService(Object.fromEntries(lists));
  service.companies.push(7n, 8n);
  return service;
}

function records(count: number): FakeRecord[] {
  return Array.from({ length: count }, (_, at) => {
    const children = [{ svcId: BigInt(at), platformId: `line ${at}` }];
    return { svcId: BigInt(100 + at), companyId: 7n, platformId: `p${at}`, updatedMs: 5, children };
  });
}
