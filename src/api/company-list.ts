import { type PageRecord, parseId } from '../domain.js';
import { SvcError } from '../errors.js';
import { at } from '../text/at.js';
import { exactInteger, isMembers, type Members, quoteIntegers, shortest } from './exact-json.js';
import { openEnvelope, type ParsedPage, parseJson } from './pages.js';

export interface CompanyListFormat {
  readonly fieldPrefix: string;
  /** Where a company's id is, such as `company.svc_id`; null: searched. */
  readonly companyIdField: string | null;
}

type CompanyId = number | bigint;

/**
 * Parses the text of a page of V4's list of companies. The ids are integers or strings of digits.
 *
 * @throws SvcError `bad_response`, which lists the fields of a company if no id is found
 */
export function parseCompanyPage(text: string, format: CompanyListFormat): ParsedPage {
  parseJson(text);
  const exact = parseJson(quoteIntegers(text, idNames(format)));
  const { list, next, totalCount } = openEnvelope(exact, null);
  const idPath = findIdPath(list, format);
  const ids = idPath === null ? null : idsAt(list, idPath);
  if (ids === null) throw noIds(list, format);
  return { records: ids.map(companyRecord), rejected: [], next, totalCount };
}

/** A company as a record: its list is read and stored like any other. */
function companyRecord(id: CompanyId): PageRecord {
  return {
    svcId: id,
    companyId: id,
    platformId: null,
    platformUniqueId: null,
    deleted: false,
    updatedMs: null,
    latestMs: null,
    latestFrom: null,
    createdMs: null,
    children: [],
    facts: null,
  };
}

export function describeCompanies(
  text: string,
  format: CompanyListFormat,
): { readonly idField: string; readonly fields: readonly string[] } {
  const { list } = openEnvelope(parseJson(quoteIntegers(text, idNames(format))), null);
  const company = list.find(isMembers);
  const idPath = findIdPath(list, format) ?? [];
  return { idField: idPath.join('.'), fields: company === undefined ? [] : fieldsOf(company) };
}

function idNames({ fieldPrefix: prefix, companyIdField }: CompanyListFormat): readonly string[] {
  if (companyIdField === null) return [`${prefix}id`, `${prefix}company_id`, 'id'];
  return companyIdField.split('.').slice(-1);
}

/** The first field that holds an id in every company: of the company itself, else one object deeper. */
function findIdPath(list: readonly unknown[], format: CompanyListFormat): readonly string[] | null {
  if (format.companyIdField !== null) return format.companyIdField.split('.');
  const names = idNames(format);
  const top = names.find((name) => idsAt(list, [name]) !== null);
  if (top !== undefined) return [top];
  const objects = Object.entries(list.find(isMembers) ?? {}).filter(([, value]) => isMembers(value));
  for (const name of names) {
    const nested = objects
      .map(([object]) => [object, name])
      .filter((path) => {
        const ids = idsAt(list, path);
        // An id that all companies share identifies something else.
        return ids !== null && new Set(ids).size === ids.length;
      });
    // Two such objects: only `v4.companyIdField` can say which is the company.
    if (nested.length > 0) return nested.length === 1 ? at(nested, 0) : null;
  }
  return null;
}

function idsAt(list: readonly unknown[], path: readonly string[]): readonly CompanyId[] | null {
  const ids: CompanyId[] = [];
  for (const company of list) {
    const id = readId(
      path.reduce((value: unknown, name) => (isMembers(value) ? value[name] : undefined), company),
    );
    if (id === null) return null;
    ids.push(id);
  }
  return ids;
}

function readId(value: unknown): CompanyId | null {
  const integer = exactInteger(value);
  if (integer !== null || typeof value !== 'string') return integer;
  const id = parseId(value);
  return id === null ? null : shortest(id);
}

function noIds(list: readonly unknown[], format: CompanyListFormat): SvcError {
  const company = list.find((item) => !isMembers(item)) ?? list[0];
  const where = format.companyIdField ?? idNames(format).join(', ');
  const what = isMembers(company)
    ? `not every company has an id in ${where}; one has the fields ${fieldsOf(company).join(', ') || 'none'}`
    : 'one of its companies is not an object';
  return new SvcError('bad_response', `V4's list of companies cannot be read: ${what}.`);
}

const MAX_FIELDS = 30;

function fieldsOf(company: Members): string[] {
  const names = Object.entries(company).flatMap(([name, value]) =>
    isMembers(value) ? Object.keys(value).map((inner) => `${name}.${inner}`) : [name],
  );
  const shown = names.slice(0, MAX_FIELDS).map((name) => name.slice(0, 60));
  return [...shown, ...(names.length > MAX_FIELDS ? ['…'] : [])];
}
