import { STATUSES } from '../reasons.js';
import { countOf, formatShare, formatTime, groupDigits } from '../text/numbers.js';
import { sumSide } from '../text/reason-counts.js';
import { firstInOrder } from '../text/rows.js';
import {
  type DocumentBlock,
  type DocumentColumn,
  fold,
  list,
  type NumbersBlock,
  numeric,
  plain,
  type Section,
  type SentenceBlock,
  STATUS_NAMES,
  type StatusCount,
  sentence,
  type TableBlock,
  type TableCell,
  table,
} from './blocks.js';
import {
  buildVerdict,
  type CutoverVerdict,
  describeAllowed,
  describeFound,
  describeKey,
  nameOfLimit,
} from './build-verdict.js';
import {
  ambiguousBlocks,
  anchorOf,
  decisionBlocks,
  driftBlocks,
  evidenceBlocks,
  fullSyncBlocks,
  keyOf,
  limitationBlocks,
  listBlocks,
  MAX_ROWS,
  sampleBlocks,
} from './document-details.js';
import type { Counts, Report } from './report-schema.js';

/** A report for people, as blocks that each format prints in its own way. */
export interface ReportDocument {
  readonly outcome: Report['outcome'];
  readonly verdict: CutoverVerdict;
  /** What follows the title: the verdict, the scope, warnings. */
  readonly lead: readonly SentenceBlock[];
  /** V3 ids by status, and V4 ids. */
  readonly ids: NumbersBlock;
  readonly sections: readonly Section[];
}

/** Builds the document of a report. Pure, except that long sections of the report are read from the database. */
export function buildDocument(report: Report): ReportDocument {
  const verdict = buildVerdict(report);
  const fullSync = fullSyncBlocks(report);
  const sections: readonly Section[] = [
    {
      id: 'obstacles',
      title: 'What stands in the way',
      blocks: obstacleBlocks(verdict, report, fullSync.length > 0),
    },
    { id: 'models', title: 'Models', blocks: modelBlocks(report) },
    { id: 'timeline', title: 'Age of the records', blocks: ageBlocks(report) },
    { id: 'limits', title: 'Limits', blocks: limitBlocks(report) },
    { id: 'reasons', title: 'Reasons', blocks: reasonBlocks(report) },
    { id: 'pair', title: 'Companies to pair by hand', blocks: ambiguousBlocks(report) },
    { id: 'companies', title: 'Companies', blocks: companyBlocks(report) },
    { id: 'full-sync', title: 'Full sync to ask for', blocks: fullSync },
    { id: 'decisions', title: 'Decisions', blocks: decisionBlocks(report) },
    { id: 'drift', title: 'Pairs with different fields', blocks: driftBlocks(report) },
    { id: 'samples', title: 'Samples', blocks: sampleBlocks(report) },
    { id: 'lists', title: 'Lists read', blocks: listBlocks(report) },
    { id: 'cannot-see', title: 'What this check cannot see', blocks: limitationBlocks(report) },
    { id: 'evidence', title: 'Evidence', blocks: evidenceBlocks(report) },
  ];
  return {
    outcome: report.outcome,
    verdict,
    lead: leadOf(report, verdict),
    ids: idNumbers(report),
    sections: sections.filter(({ blocks }) => blocks.length > 0),
  };
}

function leadOf({ scope, completeness }: Report, verdict: CutoverVerdict): SentenceBlock[] {
  const { models, companies } = scope;
  const parts = [
    ...(models === null ? [] : [`models ${models.join(', ')}`]),
    ...(companies === null ? [] : [`companies ${companies.join(', ')}`]),
  ];
  // Ids of these models that the user may have stored are not checked.
  const absent = new Set<string>();
  for (const { generation, state, model } of completeness) {
    if (generation === 'v3' && state === 'absent') absent.add(model);
  }
  const warning = `Warning: V3 answered 404 for ${[...absent].join(', ')}; V3 ids of these lists are not checked.`;
  return [
    sentence(verdict.sentence),
    ...(parts.length === 0 ? [] : [sentence(`Only ${parts.join(' and ')}.`)]),
    ...(absent.size === 0 ? [] : [sentence(warning, true)]),
  ];
}

/** V3 ids by status, then all rows without one, of any status, as `v4_only`; and the number of V3 ids. */
function countStatuses({ byStatus, v3ByStatus }: Pick<Counts, 'byStatus' | 'v3ByStatus'>) {
  const sum = (counts: Record<string, number>) => Object.values(counts).reduce((all, n) => all + n, 0);
  const v3 = sum(v3ByStatus);
  const statuses = STATUSES.map((status): StatusCount => {
    return { status, count: status === 'v4_only' ? sum(byStatus) - v3 : v3ByStatus[status] };
  });
  return { v3, statuses };
}

/** V3 ids by status, whose shares are of the V3 ids, then V4 ids. */
function idNumbers({ totals, evidence: { remap } }: Report): NumbersBlock {
  const { v3, statuses } = countStatuses(totals);
  const v4 = totals.v4Records + totals.v4Children;
  const whole = (name: string, count: number, note: string) => ({ name, count, note, status: null });
  const partsOf = (name: string, all: number, parts: readonly StatusCount[]) =>
    parts.map(({ status, count }) => {
      return { name: STATUS_NAMES[status], count, note: `${formatShare(count, all)} of ${name}`, status };
    });
  const idsIn = (records: number, lineItems: number) =>
    remap === null ? 'not joined yet' : `${countOf(records, 'record')}, ${countOf(lineItems, 'line item')}`;
  const isV3 = ({ status }: StatusCount) => status !== 'v4_only';
  const further = [
    ...partsOf(
      'V4 ids',
      v4,
      statuses.filter((one) => !isV3(one)),
    ),
    whole('rejected', totals.rejected, 'objects without a usable id'),
    whole('pairs in doubt', totals.uniqueIdConflicts, 'their unique ids differ'),
  ];
  return {
    kind: 'numbers',
    rows: [
      whole('V3 ids', v3, idsIn(totals.v3Records, totals.v3Children)),
      ...partsOf('V3 ids', v3, statuses.filter(isV3)),
      whole('V4 ids', v4, idsIn(totals.v4Records, totals.v4Children)),
      ...further.filter(({ count }) => count > 0),
    ],
  };
}

function obstacleBlocks(
  { obstacles }: CutoverVerdict,
  { findings: { samples } }: Report,
  hasSync: boolean,
): DocumentBlock[] {
  const items = obstacles.map((one) => {
    const sample = samples.map(keyOf).find((key) => key === one.key || key.startsWith(`${one.key}/`));
    const isSync = hasSync && one.key.endsWith('outside_backfill_window');
    const links = [
      ...(sample === undefined ? [] : [{ id: anchorOf(sample), text: 'Samples' }]),
      ...(isSync ? [{ id: 'full-sync', text: 'What to ask the operator for' }] : []),
    ];
    return { ...one, links };
  });
  return items.length === 0 ? [] : [list(items, items.length, true)];
}

/** A count for each status that any of the rows has, after the V3 ids. */
function countTable(
  by: string,
  names: readonly DocumentColumn[],
  counted: readonly { readonly names: readonly TableCell[]; readonly counts: Counts }[],
  total: number,
): TableBlock {
  const rows = counted.map(({ names: own, counts }) => ({ own, ...countStatuses(counts) }));
  const isShown = ({ status }: StatusCount, at: number) =>
    status === 'matched' || status === 'unmatched' || rows.some((row) => row.statuses[at]?.count !== 0);
  const shown = STATUSES.filter((status, at) => isShown({ status, count: 0 }, at));
  const bar: DocumentColumn = { title: 'Statuses', unordered: true, only: 'page' };
  return table(
    `V3 ids by status, and V4 ids without a V3 id, by ${by}.`,
    [...names, bar, ...numeric('V3 ids', ...shown.map((status) => STATUS_NAMES[status]))],
    rows.map(({ own, v3, statuses }): TableCell[] => [
      ...own,
      { kind: 'bar', parts: statuses },
      ...[v3, ...statuses.filter(isShown).map(({ count }) => count)].map(groupDigits),
    ]),
    total,
  );
}

function modelBlocks({ models }: Report): DocumentBlock[] {
  const rows = models.map((one) => ({ names: [one.model, one.v4Model ?? '–'], counts: one }));
  const names: DocumentColumn[] = [{ title: 'Model' }, { title: 'V4 model', only: 'files' }];
  return rows.length === 0 ? [] : [countTable('model', names, rows, rows.length)];
}

function companyBlocks({ companies }: Report): DocumentBlock[] {
  const findings = ({ byStatus: { unmatched, deleted, ambiguous, v4_only } }: Counts) =>
    unmatched + deleted + ambiguous + v4_only;
  const { shown, total } = firstInOrder(companies, MAX_ROWS, (a, b) => findings(b) - findings(a));
  const rows = shown.map((one) => {
    const { v3CompanyId: v3, v4CompanyId: v4, region, matchedBy } = one;
    const name = v3 === null ? `only V4: ${v4}` : `${v3} in ${region} → ${v4 ?? 'none'}`;
    return { names: [name, matchedBy ?? '–'], counts: one };
  });
  const block = countTable('company, most findings first', plain('Company', 'Paired by'), rows, total);
  return total === 0 ? [] : [fold(`Companies (${groupDigits(total)})`, [block], 'open')];
}

function ageBlocks({ timeline }: Report): DocumentBlock[] {
  const months = [timeline.earlier, ...timeline.months, timeline.later].filter((month) => month !== null);
  if (months.length === 0) return [];
  const { since } = timeline.window;
  const window =
    since === null
      ? "Where V4's history starts is not configured; it was inferred for each company."
      : `V4's history starts ${formatTime(since)}.`;
  const undated =
    timeline.undated === 0 ? '' : ` ${countOf(timeline.undated, 'record')} without a readable date.`;
  const rows = months.map(({ month, matched, unmatched, other }) => [
    month,
    ...[matched, unmatched, other].map(groupDigits),
  ]);
  const columns = [...plain('Month'), ...numeric('matched', 'unmatched', 'deleted or ambiguous')];
  const blocks: DocumentBlock[] = [
    sentence(`V3 records by the month of their latest date. ${window}${undated}`),
    { kind: 'ages', timeline },
    fold('The numbers in this chart', [table('V3 records by month.', columns, rows)]),
  ];
  return [fold('Age of the records', blocks, 'only')];
}

function limitBlocks({ gate, evidence }: Report): DocumentBlock[] {
  const shown = gate.limits.filter(({ allowed }) => allowed !== null);
  const rows = shown.map((limit): TableCell[] => [
    nameOfLimit(limit),
    limit.unit === 'hours' && limit.actual !== null
      ? `read at ${formatTime(evidence.oldestReadAt ?? '')}`
      : describeFound(limit),
    describeAllowed(limit),
    { kind: 'judged', pass: limit.pass },
    limit.configured ? 'configured' : 'default',
  ]);
  const columns: DocumentColumn[] = [
    { title: 'Limit' },
    { title: 'Found', numeric: true, unordered: true },
    { title: 'Allowed', numeric: true, unordered: true },
    { title: 'Verdict' },
    { title: 'From', only: 'page' },
  ];
  const limits = table('Every limit that is configured or judged a row.', columns, rows);
  // Where limits fail, the obstacles say by how much.
  return gate.pass ? [limits] : [fold(`Limits (${rows.length})`, [limits], 'open')];
}

function reasonBlocks({ reasons }: Report): DocumentBlock[] {
  if (reasons.length === 0) return [];
  const counted = reasons.map(({ key, v3, v4 }) => ({
    key,
    counts: [v3.records, sumSide(v3) - v3.records, v4.records, sumSide(v4) - v4.records],
  }));
  const isUsed = (_: unknown, at: number) => counted.some(({ counts }) => counts[at] !== 0);
  const titles = ['V3 records', 'V3 line items', 'V4 records', 'V4 line items'];
  const columns: DocumentColumn[] = [
    ...plain('Reason', 'Status / reason'),
    ...numeric(...titles.filter(isUsed)),
    { title: 'What it means', unordered: true, only: 'files' },
    { title: 'What to do', unordered: true, only: 'page' },
  ];
  const rows = counted.map(({ key, counts }): TableCell[] => {
    const { title, meaning, action } = describeKey(key);
    const numbers = counts.filter(isUsed).map(groupDigits);
    return [title, { kind: 'key', text: key }, ...numbers, meaning, { kind: 'inline', text: action }];
  });
  const caption = 'Findings by reason; line items of a record that is a finding count under its reason.';
  return [fold(`Reasons (${rows.length})`, [table(caption, columns, rows)], 'open')];
}
