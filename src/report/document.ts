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
  nameOfLimit,
} from './build-verdict.js';
import {
  countFullSync,
  countIds,
  describeKey,
  describeScope,
  nameOfCompany,
  sumFindings,
} from './describe.js';
import {
  ambiguousBlocks,
  decisionBlocks,
  driftBlocks,
  evidenceBlocks,
  fullSyncBlocks,
  limitationBlocks,
  listBlocks,
  MAX_ROWS,
  sampleBlocks,
  sampleId,
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
  const sections: readonly Section[] = [
    { id: 'obstacles', title: 'What stands in the way', blocks: obstacleBlocks(verdict, report) },
    { id: 'models', title: 'Models', blocks: modelBlocks(report) },
    { id: 'timeline', title: 'Age of the records', blocks: ageBlocks(report) },
    { id: 'limits', title: 'Limits', blocks: limitBlocks(report) },
    { id: 'reasons', title: 'Reasons', blocks: reasonBlocks(report) },
    { id: 'pair', title: 'Companies to pair by hand', blocks: ambiguousBlocks(report) },
    { id: 'companies', title: 'Companies', blocks: companyBlocks(report) },
    { id: 'full-sync', title: 'Full sync to ask for', blocks: fullSyncBlocks(report) },
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

function leadOf(report: Report, verdict: CutoverVerdict): SentenceBlock[] {
  const scope = describeScope(report.scope);
  // Ids of these models that the user may have stored are not checked.
  const absent = new Set<string>();
  for (const { generation, state, model } of report.completeness) {
    if (generation === 'v3' && state === 'absent') absent.add(model);
  }
  const names = [...absent].join(', ');
  const warning = `Warning: V3 answered 404 for ${names}; V3 ids of these lists are not checked.`;
  return [
    sentence(verdict.sentence),
    ...(scope === null ? [] : [sentence(scope)]),
    ...(names === '' ? [] : [{ ...sentence(warning), isWarning: true as const }]),
  ];
}

/** V3 ids by status, whose shares are of the V3 ids, then V4 ids. */
function idNumbers({ totals }: Report): NumbersBlock {
  const { v3, v4Only } = countIds(totals);
  const v4 = totals.v4Records + totals.v4Children;
  const whole = (name: string, count: number, note: string) => {
    return { name, count, note, status: null, isPart: false };
  };
  const part = ({ status, count }: StatusCount) => {
    const share =
      status === 'v4_only' ? `${formatShare(count, v4)} of V4 ids` : `${formatShare(count, v3)} of V3 ids`;
    return { name: STATUS_NAMES[status], count, note: share, status, isPart: true };
  };
  const idsIn = (records: number, lineItems: number) =>
    `${countOf(records, 'record')}, ${countOf(lineItems, 'line item')}`;
  const ofV3 = listStatuses(totals).filter(({ status }) => status !== 'v4_only');
  const further = [
    part({ status: 'v4_only', count: v4Only }),
    whole('rejected', totals.rejected, 'objects without a usable id'),
    whole('pairs in doubt', totals.uniqueIdConflicts, 'their unique ids differ'),
  ];
  return {
    kind: 'numbers',
    rows: [
      whole('V3 ids', v3, idsIn(totals.v3Records, totals.v3Children)),
      ...ofV3.map(part),
      whole('V4 ids', v4, idsIn(totals.v4Records, totals.v4Children)),
      ...further.filter(({ count }) => count > 0),
    ],
  };
}

/** Rows with a V3 id by status, then all rows without one, of any status, as `v4_only`. */
function listStatuses(counts: Pick<Counts, 'byStatus' | 'v3ByStatus'>): readonly StatusCount[] {
  const { v4Only } = countIds(counts);
  return STATUSES.map((status) => ({
    status,
    count: status === 'v4_only' ? v4Only : counts.v3ByStatus[status],
  }));
}

function obstacleBlocks({ obstacles }: CutoverVerdict, report: Report): DocumentBlock[] {
  if (obstacles.length === 0) return [];
  const hasLetter = countFullSync(report.fullSync).records > 0;
  const items = obstacles.map((one) => {
    const samples = sampleId(report, one.key);
    const isSync = hasLetter && one.key.endsWith('outside_backfill_window');
    const links = [
      ...(samples === null ? [] : [{ id: samples, text: 'Samples' }]),
      ...(isSync ? [{ id: 'full-sync', text: 'What to ask the operator for' }] : []),
    ];
    return { ...one, links };
  });
  return [{ ...list(items), isOrdered: true }];
}

/** A count for each status that any of the rows has, after the V3 ids. */
function countTable(
  caption: string,
  names: readonly DocumentColumn[],
  counted: readonly { readonly names: readonly TableCell[]; readonly counts: Counts }[],
  total: number,
): TableBlock {
  const rows = counted.map((one) => ({ ...one, statuses: listStatuses(one.counts) }));
  const shown = STATUSES.filter(
    (status, at) =>
      status === 'matched' ||
      status === 'unmatched' ||
      rows.some(({ statuses }) => statuses[at]?.count !== 0),
  );
  const bar: DocumentColumn = { title: 'Statuses', unordered: true, only: 'page' };
  const columns = [...names, bar, ...numeric('V3 ids', ...shown.map((status) => STATUS_NAMES[status]))];
  const cells = rows.map(({ names: own, counts, statuses }): TableCell[] => [
    ...own,
    { kind: 'bar', parts: statuses },
    groupDigits(countIds(counts).v3),
    ...statuses.filter(({ status }) => shown.includes(status)).map(({ count }) => groupDigits(count)),
  ]);
  return table(caption, columns, cells, total);
}

const COUNT_CAPTION = 'V3 ids by status, and V4 ids without a V3 id';

function modelBlocks({ models }: Report): DocumentBlock[] {
  if (models.length === 0) return [];
  const rows = models.map((one) => ({ names: [one.model, one.v4Model ?? '–'], counts: one }));
  const names: DocumentColumn[] = [{ title: 'Model' }, { title: 'V4 model', only: 'files' }];
  return [countTable(`${COUNT_CAPTION}, by model.`, names, rows, rows.length)];
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
  const text = `V3 records by the month of their latest date. ${window}${undated}`;
  const blocks: DocumentBlock[] = [
    sentence(text),
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
    ...[{ title: 'Found' }, { title: 'Allowed' }].map(
      (one) => ({ ...one, numeric: true, unordered: true }) as const,
    ),
    { title: 'Verdict' },
    { title: 'From', only: 'page' },
  ];
  // Where limits fail, the obstacles say by how much.
  const limits = table('Every limit that is configured or judged a row.', columns, rows);
  return rows.length === 0 ? [] : gate.pass ? [limits] : [fold(`Limits (${rows.length})`, [limits], 'open')];
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
    return [
      title,
      { kind: 'reason', text: key },
      ...counts.filter(isUsed).map(groupDigits),
      meaning,
      { kind: 'inline', text: action },
    ];
  });
  const caption = 'Findings by reason; line items of a record that is a finding count under its reason.';
  return [fold(`Reasons (${rows.length})`, [table(caption, columns, rows)], 'open')];
}

function companyBlocks({ companies }: Report): DocumentBlock[] {
  const { shown, total } = firstInOrder(companies, MAX_ROWS, (a, b) => sumFindings(b) - sumFindings(a));
  if (total === 0) return [];
  const rows = shown.map((one) => ({ names: [nameOfCompany(one), one.matchedBy ?? '–'], counts: one }));
  const caption = `${COUNT_CAPTION}, by company, most findings first.`;
  const block = countTable(caption, plain('Company', 'Paired by'), rows, total);
  return [fold(`Companies (${groupDigits(total)})`, [block], 'open')];
}
