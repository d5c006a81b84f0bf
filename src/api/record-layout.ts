import { KeyTable } from '../json/members.js';
import { type DigestField, digestFields } from './field-digests.js';

/** The format of the pages of a model's lists. */
export interface ListSpec {
  readonly generation: 'v3' | 'v4';
  readonly fieldPrefix: string;
  /** Fields whose array items are children. */
  readonly children: readonly string[];
  readonly dateFields: readonly string[];
}

/** The format of the pages of one company's list. */
export interface PageSpec extends ListSpec {
  /** The company that every record must belong to; null: any. */
  readonly companyId: bigint | null;
}

export interface ChildLayout {
  readonly id: number;
  readonly platformId: number;
  readonly uniqueId: number;
  readonly deletedAt: number;
}

/** The slots (indexes in `table`) of the members that are read from a record. */
export interface RecordLayout extends ChildLayout {
  readonly table: KeyTable;
  readonly companyId: number;
  readonly svcUpdatedAt: number;
  readonly createdAt: number;
  readonly orgCreatedAt: number;
  readonly dates: readonly number[];
  readonly serviceDates: readonly number[];
  /** All slots that may contain a date, without duplicates. */
  readonly datelike: readonly number[];
  /** The compared fields with their slots. */
  readonly digested: readonly (DigestField & { readonly slot: number })[];
  /** Slots from this one on are the fields with children, in the order of `childPaths`. */
  readonly firstChild: number;
  readonly childPaths: readonly string[];
  readonly childTable: KeyTable;
  readonly child: ChildLayout;
}

/** Assigns slots to the members to read; a name with several uses has one slot. */
export function buildRecordLayout(spec: ListSpec): RecordLayout {
  const prefix = spec.fieldPrefix;
  const digested = digestFields(spec.dateFields);
  const identity = [`${prefix}id`, 'platform_id', 'platform_unique_id', `${prefix}deleted_at`];
  const service = [`${prefix}company_id`, `${prefix}created_at`, `${prefix}updated_at`];
  const dates = [...spec.dateFields, 'created_at', 'org_created_at'];
  const named = [...new Set([...identity, ...service, ...dates, ...digested.map(({ name }) => name)])];
  // a field with children that is also used otherwise is not read as children
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
