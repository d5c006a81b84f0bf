import { isAccepted, type Limits, limitOf } from '../limits.js';
import { outcomeKey, rankOfKey } from '../reasons.js';
import type { FindingCount } from '../store/findings.js';
import type { RemapRow } from '../store/remap.js';
import { at } from '../text/at.js';
import { escapeUnseen } from '../text/escape.js';
import { countOf, groupDigits } from '../text/numbers.js';
import { groupBy } from '../text/rows.js';
import { renderTable } from '../text/table.js';
import { cutText, wrapText } from '../text/wrap.js';
import { actionFor, describeKey } from './next-steps.js';
import type { Report } from './report-schema.js';

const MAX_CHARS = 60;

const COLUMNS = [
  { title: 'V3 id', numeric: true, keep: true },
  { title: 'V4 id', numeric: true, keep: true },
  { title: 'Company', numeric: true },
  { title: 'Model', keep: true },
  { title: 'platform_id' },
];

interface ShownFindings {
  /** The first of each reason. */
  readonly rows: readonly RemapRow[];
  readonly counts: readonly FindingCount[];
  readonly windows: Report['windows'];
  readonly limits: Limits;
  readonly width: number;
}

/** The first findings of each reason for a terminal, with the number of all, and what settles the most frequent. */
export function renderFindings({ rows, counts, windows, limits, width }: ShownFindings): string {
  if (counts.length === 0) return 'No findings.\n';
  const keyOf = ({ status, reason }: Pick<RemapRow, 'status' | 'reason'>) => outcomeKey(status, reason);
  const byKey = [...groupBy(counts, keyOf)].sort(([a], [b]) => rankOfKey(a) - rankOfKey(b));
  const rowsByKey = groupBy(rows, keyOf);
  const wrap = (text: string, indent = '') => wrapText(text, width, indent);
  const blocks = byKey.map(([key, own]) => {
    const { title, meaning } = describeKey(key);
    const shown = rowsByKey.get(key) ?? [];
    const head = title === '' ? key : `${title} (${key})`;
    return [
      ...wrap(`${head}: ${describeCounts(own)}`),
      ...wrap(meaning, '  '),
      ...(shown.length === 0 ? [] : renderTable(COLUMNS, shown.map(cellsOf), width)),
    ];
  });
  const total = sum(counts);
  const shown = `${groupDigits(rows.length)} of ${countOf(total, 'finding')} shown; line items of records that are findings are counted only. --limit 0 shows all, --json FILE writes all.`;
  const next = nextFor(counts, windows, limits);
  return `${[...blocks, [...wrap(shown), ...wrap(`Next: ${next}`)]].map((block) => block.join('\n')).join('\n\n')}\n`;
}

/** The step for what is most among the findings that no limit accepts. */
function nextFor(counts: readonly FindingCount[], windows: Report['windows'], limits: Limits): string {
  const refused = counts.filter((row) => !isAccepted(limits, row));
  const byKey = groupBy(refused, ({ status, reason }) => outcomeKey(status, reason));
  const [most] = [...byKey].sort(([, a], [, b]) => sum(b) - sum(a));
  if (most === undefined) return ALL_ACCEPTED;
  const [key, rows] = most;
  return actionFor(key, windows, limitOf(limits, at(rows, 0)).model);
}

const ALL_ACCEPTED = 'Nothing to decide: limits and decisions accept all of them.';

function sum(counts: readonly FindingCount[]): number {
  return counts.reduce((all, { rows }) => all + Number(rows), 0);
}

/** `3 V3 records, 12 V3 line items, 1 V4 record`. */
function describeCounts(counts: readonly FindingCount[]): string {
  const numberOf = (isChild: bigint, pick: (row: FindingCount) => bigint) =>
    counts.filter((row) => row.isChild === isChild).reduce((all, row) => all + Number(pick(row)), 0);
  const ofV3 = ({ v3Rows }: FindingCount) => v3Rows;
  const ofV4 = ({ rows, v3Rows }: FindingCount) => rows - v3Rows;
  return [
    { count: numberOf(0n, ofV3), noun: 'V3 record' },
    { count: numberOf(1n, ofV3), noun: 'V3 line item' },
    { count: numberOf(0n, ofV4), noun: 'V4 record' },
    { count: numberOf(1n, ofV4), noun: 'V4 line item' },
  ]
    .filter(({ count }) => count > 0)
    .map(({ count, noun }) => countOf(count, noun))
    .join(', ');
}

function cellsOf(row: RemapRow): string[] {
  const company = row.v3_company_id === null ? `V4 ${row.v4_company_id}` : `${row.v3_company_id}`;
  return [
    row.v3_svc_id?.toString() ?? '–',
    row.v4_svc_id?.toString() ?? '–',
    company,
    row.path === '' ? row.model : `${row.model} ${row.path}`,
    escapeUnseen(cutText(row.platform_id ?? '–', MAX_CHARS)),
  ];
}
