import type { RowUnit } from '../domain.js';
import { bareReason } from '../reasons.js';
import { countOf } from '../text/numbers.js';
import { sortReasons } from './counts.js';
import type { RowCount } from './gate.js';
import type { IdCounts, ReasonCounts } from './report-schema.js';

/** A number of rows, with their `status/reason`. */
interface KeyCount {
  readonly key: string;
  readonly unit: RowUnit | null;
  readonly count: number;
}

/** Findings by the reasons of their records: line items whose record is a finding count under its reason. */
export function countReasons(rows: readonly RowCount[]): ReasonCounts[] {
  const findings = rows.flatMap(({ status, reason, unit, count }) =>
    reason === null ? [] : [{ key: `${status}/${reason}`, unit, count }],
  );
  return groupByReason(findings);
}

/** `status/reason` without `parent_`. */
export function bareKey(key: string): string {
  const [status = '', reason] = key.split('/');
  return reason === undefined ? key : `${status}/${bareReason(reason)}`;
}

export function groupByReason(counts: readonly KeyCount[]): ReasonCounts[] {
  const keys = sortReasons(new Set(counts.map(({ key }) => bareKey(key))));
  return keys.map((key) => {
    const own = counts.filter((one) => bareKey(one.key) === key);
    return {
      key,
      v3: countIdsOf(own, 'v3_record', 'v3_line_item'),
      v4: countIdsOf(own, 'v4_record', 'v4_line_item'),
    };
  });
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

export function sumIds({ records, theirLineItems, otherLineItems }: IdCounts): number {
  return records + theirLineItems + otherLineItems;
}

/** `52 V3 records with 80 line items, 4 other V3 line items; 3 V4 records`. */
export function describeIds({ v3, v4 }: Pick<ReasonCounts, 'v3' | 'v4'>): string {
  const sides = [describeSide('V3', v3), describeSide('V4', v4)].filter((parts) => parts.length > 0);
  return sides.map((parts) => parts.join(', ')).join('; ');
}

function describeSide(side: 'V3' | 'V4', counts: IdCounts): string[] {
  const { records, theirLineItems } = counts;
  if (records === 0) {
    const all = sumIds(counts);
    return all === 0 ? [] : [countOf(all, `${side} line item`)];
  }
  const theirs = theirLineItems === 0 ? '' : ` with ${countOf(theirLineItems, 'line item')}`;
  const others = counts.otherLineItems;
  return [
    countOf(records, `${side} record`) + theirs,
    ...(others === 0 ? [] : [countOf(others, `other ${side} line item`)]),
  ];
}
