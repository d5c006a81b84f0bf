import type { RowUnit } from '../domain.js';
import { bareReason, describeOutcome, REASONS, STATUSES, type Status } from '../reasons.js';
import { countOf } from './numbers.js';
import { compare, groupBy } from './rows.js';

/** A number of rows, with their `status/reason`. */
export interface KeyCount {
  readonly key: string;
  readonly unit: RowUnit | null;
  readonly count: number;
}

/** Findings of one side: records, line items that are findings because their records are, and others. */
interface IdCounts {
  readonly records: number;
  readonly theirLineItems: number;
  readonly otherLineItems: number;
}

/** Findings with a V3 id, and without one. */
export interface SideCounts {
  readonly v3: IdCounts;
  readonly v4: IdCounts;
}

export interface ReasonCounts extends SideCounts {
  readonly key: string;
}

/** `status/reason` without `parent_`. */
export function bareKey(key: string): string {
  const [status = '', reason] = key.split('/');
  return reason === undefined ? key : `${status}/${bareReason(reason)}`;
}

/** The plain words for a `status/reason`, the same for line items of a record that is a finding; '' if there are none. */
export function titleOfKey(key: string): string {
  const [status = '', reason = null] = bareKey(key).split('/');
  return describeOutcome(status, reason).title;
}

const STATUS_ORDER: readonly string[] = STATUSES;
const REASON_ORDER: readonly string[] = REASONS;

/** Orders keys `status/reason` as in `REASONS`, each before its `parent_` form. */
export function sortReasons(keys: Iterable<string>): string[] {
  const ranked = Array.from(keys, (key) => {
    const [status = '', reason = ''] = key.split('/');
    const bare = bareReason(reason);
    const rank = STATUS_ORDER.indexOf(status) * REASONS.length + REASON_ORDER.indexOf(bare);
    return { key, rank: 2 * rank + (bare === reason ? 0 : 1) };
  });
  ranked.sort((a, b) => a.rank - b.rank || compare(a.key, b.key));
  return ranked.map(({ key }) => key);
}

/** Findings by the reasons of their records: line items whose record is a finding count under its reason. */
export function groupByReason(counts: readonly KeyCount[]): ReasonCounts[] {
  const groups = groupBy(counts, ({ key }) => bareKey(key));
  return sortReasons(groups.keys()).map((key) => ({ key, ...countSides(groups.get(key) ?? []) }));
}

/** The findings among rows by the reasons of their records. */
export function countReasons(
  rows: readonly {
    readonly status: Status;
    readonly reason: string | null;
    readonly unit: RowUnit;
    readonly count: number;
  }[],
): ReasonCounts[] {
  return groupByReason(
    rows.flatMap(({ status, reason, unit, count }) =>
      reason === null ? [] : [{ key: `${status}/${reason}`, unit, count }],
    ),
  );
}

export function countSides(counts: readonly KeyCount[]): SideCounts {
  return {
    v3: countIdsOf(counts, 'v3_record', 'v3_line_item'),
    v4: countIdsOf(counts, 'v4_record', 'v4_line_item'),
  };
}

function countIdsOf(counts: readonly KeyCount[], record: RowUnit, lineItem: RowUnit): IdCounts {
  const isTheirs = ({ key }: KeyCount) => key !== bareKey(key);
  const sum = (isCounted: (one: KeyCount) => boolean) =>
    counts.filter(isCounted).reduce((all, { count }) => all + count, 0);
  return {
    records: sum(({ unit }) => unit === record),
    theirLineItems: sum((one) => one.unit === lineItem && isTheirs(one)),
    otherLineItems: sum((one) => one.unit === lineItem && !isTheirs(one)),
  };
}

export function sumIds({ v3, v4 }: SideCounts): number {
  return sumSide(v3) + sumSide(v4);
}

export function sumSide({ records, theirLineItems, otherLineItems }: IdCounts): number {
  return records + theirLineItems + otherLineItems;
}

/** `52 V3 records with 80 line items, 4 other V3 line items; 3 V4 records`. */
export function describeIds({ v3, v4 }: SideCounts): string {
  const sides = [describeSide('V3', v3), describeSide('V4', v4)].filter((parts) => parts.length > 0);
  return sides.map((parts) => parts.join(', ')).join('; ');
}

function describeSide(side: 'V3' | 'V4', counts: IdCounts): string[] {
  const { records, theirLineItems } = counts;
  if (records === 0) {
    const all = sumSide(counts);
    return all === 0 ? [] : [countOf(all, `${side} line item`)];
  }
  const theirs = theirLineItems === 0 ? '' : ` with ${countOf(theirLineItems, 'line item')}`;
  const others = counts.otherLineItems;
  return [
    countOf(records, `${side} record`) + theirs,
    ...(others === 0 ? [] : [countOf(others, `other ${side} line item`)]),
  ];
}
