import { pageParser } from '../../../src/api/envelope.js';
import type { PageSpec } from '../../../src/api/record.js';
import type { ParsedPage, ParsedRecord } from '../../../src/domain.js';
import { SvcError } from '../../../src/errors.js';
import { recordsOf } from '../../../src/json/record-columns.js';
import { parseChildren } from '../../../src/json/stored-lists.js';
import type { Child } from '../../support/stored-children.js';

export const V3: PageSpec = {
  generation: 'v3',
  fieldPrefix: 'svc_',
  children: ['line_items', 'payments'],
  dateFields: ['posted_date', 'created_at', 'updated_at', 'org_created_at'],
  companyId: null,
  payload: 'full',
};
export const V4: PageSpec = { ...V3, generation: 'v4' };

/** Records that these pages were asked for. */
export const PAGE_SIZE = 500;

/** A record with its children as objects. */
export type ReadRecord = Omit<ParsedRecord, 'children'> & { readonly children: readonly Child[] };
export type ReadPage = Omit<ParsedPage, 'records'> & { readonly records: readonly ReadRecord[] };

/** A page with its records as objects. */
function parsePage(body: Uint8Array, spec: PageSpec): ReadPage {
  const { columns, ...page } = pageParser(spec)(body, spec.companyId, PAGE_SIZE);
  const records = recordsOf(columns).map((record) => ({ ...record, children: childrenOf(record.children) }));
  return { ...page, records };
}

function childrenOf(stored: string | null): Child[] {
  if (stored === null) return [];
  return parseChildren(stored).map(([path, svcId, platformId, platformUniqueId, deleted]) => {
    return { path, svcId: BigInt(svcId), platformId, platformUniqueId, deleted: deleted === 1 };
  });
}

export function parse(body: string, spec: PageSpec = V3): ReadPage {
  return parsePage(Buffer.from(body), spec);
}

/** The outcome of a page that holds one object, given as JSON text. */
export function parseOne(object: string, spec: PageSpec = V3): ReadPage {
  return parse(`{"data":[${object}],"prev":null,"next":null,"total_count":null}`, spec);
}

export function recordOf(members: string, spec: PageSpec = V3): ReadRecord {
  const page = parseOne(`{"svc_id":1,"svc_company_id":2${members === '' ? '' : `,${members}`}}`, spec);
  const [record] = page.records;
  if (record === undefined) throw new Error(`rejected: ${page.rejected[0]?.reason}`);
  return record;
}

export function errorOf(body: string | Uint8Array, spec: PageSpec = V3): SvcError {
  try {
    parsePage(Buffer.from(body), spec);
  } catch (error) {
    if (error instanceof SvcError) return error;
    throw error;
  }
  throw new Error('was accepted');
}

export const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('utf8');
