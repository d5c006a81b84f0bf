import { KeyTable } from '../json/members.js';
import { type DigestField, digestFields } from './field-digests.js';

/** What the pages of a model's lists look like. */
export interface ListSpec {
  readonly generation: 'v3' | 'v4';
  readonly fieldPrefix: string;
  /** Fields whose array items are children. */
  readonly children: readonly string[];
  readonly dateFields: readonly string[];
}

/** The same for the list of one company. */
export interface PageSpec extends ListSpec {
  /** Every record must be of this company; null: of any. */
  readonly companyId: bigint | null;
}

export interface ChildLayout {
  readonly id: number;
  readonly platformId: number;
  readonly uniqueId: number;
  readonly deletedAt: number;
}

/** Which member of a record plays which part: slots of `table`. */
export interface RecordLayout extends ChildLayout {
  readonly table: KeyTable;
  readonly companyId: number;
  readonly svcUpdatedAt: number;
  readonly createdAt: number;
  readonly orgCreatedAt: number;
  readonly dates: readonly number[];
  readonly serviceDates: readonly number[];
  /** Every slot that may hold a date, each once. */
  readonly datelike: readonly number[];
  /** The compared fields with their slots. */
  readonly digested: readonly (DigestField & { readonly slot: number })[];
  /** Slots from here on are the children's fields, in the order of `childPaths`. */
  readonly firstChild: number;
  readonly childPaths: readonly string[];
  readonly childTable: KeyTable;
  readonly child: ChildLayout;
}

/** Lays out the members to look for; the same name gets one slot whatever parts it plays. */
export function buildRecordLayout(spec: ListSpec): RecordLayout {
  const prefix = spec.fieldPrefix;
  const digested = digestFields(spec.dateFields);
  const identity = [`${prefix}id`, 'platform_id', 'platform_unique_id', `${prefix}deleted_at`];
  const service = [`${prefix}company_id`, `${prefix}created_at`, `${prefix}updated_at`];
  const dates = [...spec.dateFields, 'created_at', 'org_created_at'];
  const named = [...new Set([...identity, ...service, ...dates, ...digested.map(({ name }) => name)])];
  // a children field with another part as well keeps that part: its items could be no children
  const childPaths = [...new Set(spec.children)].filter((path) => !named.includes(path));
  const slot = (name: string): number => named.indexOf(name);
  const layout = {
    table: new KeyTable([...named, ...childPaths]),
    ...identitySlots(identity, slot),
    companyId: slot(`${prefix}company_id`),
    svcUpdatedAt: slot(`${prefix}updated_at`),
    createdAt: slot('created_at'),
    orgCreatedAt: slot('org_created_at'),
    dates: spec.dateFields.map(slot),
    serviceDates: [slot(`${prefix}created_at`), slot(`${prefix}updated_at`)],
    digested: digested.map((field) => ({ ...field, slot: slot(field.name) })),
    firstChild: named.length,
    childPaths,
    childTable: new KeyTable([...new Set(identity)]),
    child: identitySlots(identity, (name) => [...new Set(identity)].indexOf(name)),
  };
  const ofDateKind = layout.digested.filter(({ kind }) => kind === 'date').map((field) => field.slot);
  const datelike = [...layout.dates, ...layout.serviceDates, ...ofDateKind];
  return { ...layout, datelike: [...new Set(datelike)] };
}

function identitySlots(names: readonly string[], slot: (name: string) => number): ChildLayout {
  const [id = '', platformId = '', uniqueId = '', deletedAt = ''] = names;
  return { id: slot(id), platformId: slot(platformId), uniqueId: slot(uniqueId), deletedAt: slot(deletedAt) };
}
