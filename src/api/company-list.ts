import type { PageRecord, V4Company } from '../domain.js';
import { parseId } from '../domain.js';
import { at } from '../text/at.js';
import { badCompanyList, isMembers, type Members, openEnvelope, parseJson } from './envelope.js';
import { exactInteger, type ParsedPage, quoteIntegers } from './pages.js';
import { itemTexts, valueStart } from './raw-text.js';

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
  const { fieldPrefix: prefix, companyIdField } = format;
  const names = [`${prefix}id`, `${prefix}company_id`, 'id'];
  const quoted = companyIdField === null ? names : [at(companyIdField.split('.'), -1)];
  parseJson(text);
  const { list, next, totalCount, path } = openEnvelope(parseJson(quoteIntegers(text, quoted)), null);
  const idPath = companyIdField === null ? findIdPath(list, names) : companyIdField.split('.');
  const ids = idPath === null ? null : idsAt(list, idPath);
  if (ids === null) throw badCompanyList(describeMissing(list, companyIdField ?? names.join(', ')));
  const start = valueStart(text, path);
  const bodies = start === null ? [] : [...itemTexts(text, start)];
  const companies = ids.map((companyId, index): V4Company => ({ companyId, body: at(bodies, index) }));
  return { records: ids.map(recordOf), rejected: [], companies, next, totalCount };
}

export function describeCompany(
  { companyId, body }: V4Company,
  { fieldPrefix: prefix, companyIdField }: CompanyListFormat,
): { readonly idField: string; readonly fields: readonly string[] } {
  const names = [`${prefix}id`, `${prefix}company_id`, 'id'];
  const company = parseJson(quoteIntegers(body, names));
  const fields = isMembers(company) ? fieldsOf(company) : [];
  const candidates = [
    ...names,
    ...fields.filter((field) => names.some((name) => field.endsWith(`.${name}`))),
  ];
  const holdsId = (field: string) => idsAt([company], field.split('.'))?.[0] === companyId;
  return { idField: companyIdField ?? candidates.find(holdsId) ?? 'id', fields };
}

/** The first field that holds an id in every company: of the company itself, else one object deeper. */
function findIdPath(list: readonly unknown[], names: readonly string[]): readonly string[] | null {
  const top = names.find((name) => idsAt(list, [name]) !== null);
  if (top !== undefined) return [top];
  const objects = Object.entries(list.find(isMembers) ?? {}).flatMap(([name, value]) =>
    isMembers(value) ? [name] : [],
  );
  for (const name of names) {
    const nested = objects
      .map((object) => [object, name])
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
  if (id === null) return null;
  return Number.isSafeInteger(Number(id)) ? Number(id) : id;
}

const MAX_FIELDS = 30;

function describeMissing(list: readonly unknown[], where: string): string {
  const company = list.find((item) => !isMembers(item)) ?? list[0];
  if (!isMembers(company)) return 'one of its companies is not an object';
  const fields = fieldsOf(company).join(', ') || 'none';
  return `not every company has an id in ${where}; one has the fields ${fields}`;
}

function fieldsOf(company: Members): string[] {
  const names = Object.entries(company).flatMap(([name, value]) =>
    isMembers(value) ? Object.keys(value).map((inner) => `${name}.${inner}`) : [name],
  );
  const shown = names.slice(0, MAX_FIELDS).map((name) => name.slice(0, 60));
  return [...shown, ...(names.length > MAX_FIELDS ? ['…'] : [])];
}

function recordOf(companyId: CompanyId): PageRecord {
  return {
    svcId: companyId,
    companyId,
    platformId: null,
    platformUniqueId: null,
    deleted: false,
    updatedMs: null,
    latestMs: null,
    latestFrom: null,
    createdMs: null,
    children: [],
  };
}
