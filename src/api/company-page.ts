import { SvcError } from '../errors.js';
import { JsonScanner, OPEN_ARRAY, OPEN_OBJECT } from '../json/json-scanner.js';
import { KeyTable, Members } from '../json/members.js';
import { assertNoError, guardJson, readCount } from './page.js';
import { parseInt64 } from './svc-ids.js';

/** A company V4 knows, with its bytes as received. */
export interface V4Company {
  readonly companyId: bigint;
  readonly raw: Uint8Array;
}

export interface CompanyPage {
  readonly companies: readonly V4Company[];
  readonly next: string | null;
  readonly totalCount: number | null;
}

const LIST = new KeyTable(['data', 'next', 'error', 'errors', 'total_count']);
const DATA = 0;
const NEXT = 1;
const ERRORS = [2, 3];
const TOTAL_COUNT = 4;
/** Companies of one page, which are kept in memory. */
const MOST_COMPANIES = 500_000;
const LIST_HINT =
  'The shape of the V4 company list is unknown; name the company ids in `v4.companies` instead.';

/**
 * The body, if it is a company list at all; a wrong answer is worth another attempt.
 *
 * @throws SvcError `bad_response`
 */
export function checkCompanyPage(body: Uint8Array): Uint8Array {
  guardJson(body, () => openList(body));
  return body;
}

/**
 * One page of the V4 company list, whose shape the specification does not state: `{data: […], next}`, or the
 * same inside another `data`. `idFields` are tried in order.
 *
 * @throws SvcError `bad_response`
 */
export function parseCompanyPage(body: Uint8Array, idFields: readonly string[]): CompanyPage {
  return guardJson(body, () => {
    const { scanner, list } = openList(body);
    const companies = readCompanies(scanner, list.start(DATA), idFields);
    return { companies, next: readNext(body, list), totalCount: readCount(body, list, TOTAL_COUNT) };
  });
}

function openList(body: Uint8Array): { readonly scanner: JsonScanner; readonly list: Members } {
  const scanner = new JsonScanner(body);
  const start = scanner.skipSpace(0);
  scanner.expectEnd(scanner.skipValue(start));
  return { scanner, list: findList(scanner, start) };
}

function findList(scanner: JsonScanner, start: number): Members {
  const { bytes } = scanner;
  let at = start;
  for (let depth = 0; depth < 2 && bytes[at] === OPEN_OBJECT; depth++) {
    const members = new Members(LIST, scanner);
    members.read(at, LIST.names.length, null);
    assertNoError(bytes, members, ERRORS);
    if (members.kind(DATA) === OPEN_ARRAY) return members;
    if (members.isAbsent(DATA)) break;
    at = members.start(DATA);
  }
  throw badList('it holds no list of companies');
}

function readNext(body: Uint8Array, list: Members): string | null {
  if (list.isAbsent(NEXT)) throw badList('it has no `next`, so its end is unknown');
  const bytes = body.subarray(list.start(NEXT), list.end(NEXT));
  const next: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
  if (next === null || (typeof next === 'string' && next !== '')) return next;
  throw badList('its `next` is neither a cursor nor null');
}

function readCompanies(scanner: JsonScanner, at: number, idFields: readonly string[]): readonly V4Company[] {
  const { bytes } = scanner;
  const fields = [...new Set(idFields)];
  const members = new Members(new KeyTable(fields), scanner);
  const companies: V4Company[] = [];
  let i = scanner.enter(at);
  while (scanner.more) {
    if (companies.length === MOST_COMPANIES) throw badList(`a page names more than ${MOST_COMPANIES}`);
    const start = i;
    if (bytes[start] !== OPEN_OBJECT) throw badList('one of its companies is no object');
    i = members.read(start, fields.length, null);
    const companyId = firstId(bytes, members, fields.length);
    if (companyId === null) throw badList(`a company has no integer in ${fields.join(' or ')}`);
    companies.push({ companyId, raw: bytes.subarray(start, i) });
    i = scanner.nextItem(i);
  }
  return companies;
}

function firstId(bytes: Uint8Array, members: Members, slots: number): bigint | null {
  for (let slot = 0; slot < slots; slot++) {
    const id = members.isAbsent(slot) ? null : parseInt64(bytes, members.start(slot), members.end(slot));
    if (id !== null) return id;
  }
  return null;
}

function badList(what: string): SvcError {
  return new SvcError('bad_response', `The V4 company list cannot be read: ${what}.`, { hint: LIST_HINT });
}
