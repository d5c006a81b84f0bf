import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parseCompanyPage } from '../../src/api/company-list.js';
import { campaignCases } from '../support/campaign.js';
import { thrownBy } from '../support/code-of.js';
import { PAGE_SIZE, parse } from './support/pages.js';

const RECORD = '"svc_id":1,"svc_company_id":2,"platform_id":"a"';

function page(items: string): string {
  return `{"data":[${items}],"prev":null,"next":null,"total_count":1}`;
}

function list(item: string, length: number): string {
  return Array(length).fill(item).join(',');
}

describe('a page', () => {
  it.each([
    ['objects without an id', '{"a":1}'],
    ['numbers', '1'],
    ['records of another kind', '{"svc_id":"5","svc_company_id":2}'],
  ])('may hold ten times the limit of %s, and not one more', (_, item) => {
    expect(parse(page(list(item, 10 * PAGE_SIZE))).rejected).toHaveLength(10 * PAGE_SIZE);
    const error = thrownBy(() => parse(page(list(item, 10 * PAGE_SIZE + 1))));
    expect(error).toMatchObject({ code: 'bad_response', exitCode: 4 });
  });

  it('counts unusable children as rejected objects', () => {
    const children = (length: number) => page(`{${RECORD},"line_items":[${list('{"svc_id":"x"}', length)}]}`);
    expect(parse(children(10 * PAGE_SIZE)).rejected).toHaveLength(10 * PAGE_SIZE);
    expect(thrownBy(() => parse(children(10 * PAGE_SIZE + 1))).code).toBe('bad_response');
  });

  it('may hold a record with 50,000 children, in any order', () => {
    const ids = Array.from({ length: 50_000 }, (_, at) => `{"svc_id":${at + 1}}`);
    for (const items of [ids, ids.toReversed()]) {
      expect(parse(page(`{${RECORD},"line_items":[${items.join(',')}]}`)).records[0]?.children).toHaveLength(
        50_000,
      );
    }
  });
});

describe('the list of companies', () => {
  it('is refused where one page would fill the memory', () => {
    const body = Buffer.from(page(list('{"id":1}', 500_001)));
    expect(thrownBy(() => parseCompanyPage(body, ['id'])).code).toBe('bad_response');
  });
});

/** Parses a body of 64 MiB in a process of its own; tells how many MiB it took at most, the body included. */
function measure(head: string, item: string, tail: string): { outcome: string; mebibytes: number } {
  const module = new URL('../../dist/api/envelope.js', import.meta.url).href;
  const program = `
    const { pausingPageParser } = await import(${JSON.stringify(module)});
    const [head, item, tail] = ${JSON.stringify([head, item, tail])};
    const body = new Uint8Array(64 * 1024 * 1024).fill(32);
    const write = (text, at) => new TextEncoder().encodeInto(text, body.subarray(at)).written + at;
    let at = write(head, 0);
    while (at + item.length + tail.length + 2 < body.length) at = write(item, at);
    write(tail, at);
    const spec = { generation: 'v3', fieldPrefix: 'svc_', children: ['line_items'], dateFields: ['created_at'], payload: 'full' };
    let outcome = 'read';
    try { await pausingPageParser(spec, async () => {})(body, null, 500); } catch (error) { outcome = error.code ?? error.name; }
    // on Linux maxRSS includes the memory of the process that started this one
    const { readFileSync } = await import('node:fs');
    const status = process.platform === 'linux' ? readFileSync('/proc/self/status', 'utf8') : '';
    const kibibytes = Number(/VmHWM:\\s+(\\d+)/.exec(status)?.[1] ?? process.resourceUsage().maxRSS);
    console.log(JSON.stringify({ outcome, mebibytes: Math.round(kibibytes / 1024) }));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    encoding: 'utf8',
  });
  return JSON.parse(output);
}

describe('a body of 64 MiB takes less than 400 MiB', () => {
  const end = '],"next":null}';
  const bodies = [
    ['of junk', '{"data":[0', ',{"a":1}', end, 'bad_response'],
    ['of records', `{"data":[{${RECORD}}`, ',{"svc_id":1,"svc_company_id":2}', end, 'read'],
    ['of children', `{"data":[{${RECORD},"line_items":[{}`, ',{"svc_id":1}', `]}${end}`, 'bad_response'],
    [
      'of unusable children',
      `{"data":[{${RECORD},"line_items":[{}`,
      ',{"svc_id":""}',
      `]}${end}`,
      'bad_response',
    ],
    ['of keys', `{"data":[{${RECORD}`, ',"key":1', `}${end}`, 'read'],
    ['of one string', `{"data":["`, 'x'.repeat(1000), `"${end}`, 'read'],
    [
      'of one key of a record',
      `{"data":[{"svc_id":1,"svc_company_id":2,"platform_id":"`,
      'x'.repeat(1000),
      `"}${end}`,
      'read',
    ],
    ['of opening brackets', '{"data":[', '['.repeat(1000), '', 'bad_response'],
  ] as const;
  it.each(campaignCases(bodies, 1))('%s', (_, head, item, tail, outcome) => {
    const measured = measure(head, item, tail);
    process.stderr.write(`${measured.mebibytes} MiB\n`);
    expect(measured.outcome).toBe(outcome);
    expect(measured.mebibytes).toBeLessThan(400);
  });
});
