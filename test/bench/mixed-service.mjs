/**
 * A service whose V3 lists the records of several companies by time, so that every page holds some of each; V4 lists them
 * by company. Both filter and count. `node mixed-service.mjs '{"records":50000,"companies":8,"latencyMs":100}'` prints its port.
 */
import { createServer } from 'node:http';

const { records, companies, latencyMs } = JSON.parse(process.argv[2]);
const TIME = '2026-10-01T00:00:00Z';

const server = createServer((request, response) => {
  const url = new URL(request.url, 'http://localhost');
  setTimeout(() => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer(url)));
  }, latencyMs);
});
server.keepAliveTimeout = 60_000;
server.listen(0, () => process.stdout.write(`${server.address().port}\n`));

function answer({ pathname, searchParams }) {
  if (pathname === '/v4/core/companies') {
    const data = Array.from({ length: companies }, (_, at) => ({ svc_id: at + 1 }));
    return { data: { data, prev: null, next: null, total_count: companies }, request_id: 'bench' };
  }
  const inV4 = /^\/v4\/core\/companies\/(\d+)\//.exec(pathname)?.[1];
  const company = Number(inV4 ?? searchParams.get('svc_company_id[eq]') ?? 0);
  const total = company === 0 ? records : Math.floor((records - company) / companies) + 1;
  const from = searchParams.has('svc_updated_at[gte]') ? total : Number(searchParams.get('next') ?? 0);
  const count = Math.max(0, Math.min(Number(searchParams.get('limit')), total - from));
  const data = Array.from({ length: count }, (_, at) => {
    const number = company === 0 ? from + at : (from + at) * companies + company - 1;
    return recordOf(number, inV4 === undefined ? 1_000_000 : 5_000_000);
  });
  const next = from + count < total ? String(from + count) : null;
  const list = { data, prev: null, next, total_count: total };
  return inV4 === undefined ? list : { data: list, request_id: 'bench' };
}

function recordOf(number, base) {
  return {
    svc_id: base + number,
    svc_deleted_at: null,
    svc_created_at: TIME,
    svc_updated_at: TIME,
    svc_company_id: (number % companies) + 1,
    platform_id: `CN-${number}`,
    platform_unique_id: null,
    document_number: `DOC-${number}`,
    total_amount: number / 100,
    currency_id: 'EUR',
    status: 'open',
    memo: 'x'.repeat(800),
  };
}
