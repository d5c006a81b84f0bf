import { describe, expect, it } from 'vitest';
import { describeCompanies, parseCompanyPage } from '../../src/api/company-list.js';
import { codeOf, thrownBy } from '../support/code-of.js';

const ANY = { fieldPrefix: 'svc_', companyIdField: null };
const MAX = '9223372036854775807';
const list = (...companies: readonly string[]) => `{"data":[${companies.join(',')}],"next":null}`;

describe("V4's list of companies", () => {
  it.each<[string, string, string | null, readonly (number | bigint)[]]>([
    ['svc_id', list('{"svc_id":5,"id":9}', '{"svc_id":6}'), null, [5, 6]],
    ['svc_company_id before id', list('{"id":9,"svc_company_id":5}'), null, [5]],
    ['id', list('{"id":"7"}'), null, [7]],
    ['texts of digits', list('{"svc_id":"5"}', `{"svc_id":"${MAX}"}`), null, [5, BigInt(MAX)]],
    ['integers beyond 2^53', list(`{"svc_id":${MAX}}`), null, [BigInt(MAX)]],
    [
      'one object deeper',
      list('{"company":{"svc_id":"5"},"x":1}', '{"company":{"svc_id":"6"}}'),
      null,
      [5, 6],
    ],
    [
      'the only object whose ids differ',
      list('{"r":{"id":1},"c":{"id":5}}', '{"r":{"id":1},"c":{"id":6}}'),
      null,
      [5, 6],
    ],
    ['where the configuration says', list('{"svc_id":1,"a":{"b":{"no":8}}}'), 'a.b.no', [8]],
    [
      'inside another data',
      '{"data":{"data":[{"svc_id":5}],"next":null,"total_count":1},"request_id":"r"}',
      null,
      [5],
    ],
    ['none', '{"data":[],"next":null}', null, []],
    ['none, as null with a count', '{"data":{"data":null,"next":null,"total_count":0}}', null, []],
  ])('has its ids: %s', (_name, text, companyIdField, ids) => {
    const { records } = parseCompanyPage(text, { ...ANY, companyIdField });
    expect(records.map(({ svcId, companyId }) => [svcId, companyId])).toEqual(ids.map((id) => [id, id]));
  });

  it.each([
    ['no id', list('{"name":"a","owner":{"uuid":"x"}}')],
    ['an id in only some', list('{"svc_id":5}', '{"name":"b"}')],
    ['two objects with ids', list('{"a":{"id":1},"b":{"id":2}}')],
    ['a fraction', list('{"svc_id":5.5}')],
    ['beyond 64 bits', list('{"svc_id":9223372036854775808}')],
    ['no object', list('5')],
    ['no list', '{"data":null,"next":null}'],
    ['no end', '{"data":[{"svc_id":5}]}'],
    ['an error', '{"data":[{"svc_id":5}],"next":null,"error":"x"}'],
  ])('is refused with %s', (_name, text) => {
    expect(codeOf(() => parseCompanyPage(text, ANY))).toBe('bad_response');
  });

  it('names the fields that it saw where it finds no id', () => {
    const { message } = thrownBy(() => parseCompanyPage(list('{"name":"a","owner":{"uuid":"x"}}'), ANY));
    expect(message).toContain('name, owner.uuid');
  });

  it('is described by its fields', () => {
    expect(describeCompanies(list('{"company":{"svc_id":"5"},"name":"a"}'), ANY)).toEqual({
      idField: 'company.svc_id',
      fields: ['company.svc_id', 'name'],
    });
  });
});
