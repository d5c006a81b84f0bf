import { STATUSES } from '../reasons.js';
import { countOf, formatShare, formatTime, groupDigits } from '../text/numbers.js';
import { sumSide } from '../text/reason-counts.js';
import { firstInOrder } from '../text/rows.js';
import {
  type Block,
  type Cell,
  type Column,
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
  table,
} from './blocks.js';
import {
  buildVerdict,
  type CutoverVerdict,
  describeAllowed,
  describeFound,
  describeModels,
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

const MAX_MODELS = 4;

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
  const idsIn = (records: number, lineItems: number) =>
    `${countOf(records, 'record')}, ${countOf(lineItems, 'line item')}`;
  const { v3, v4Only } = countIds(totals);
  const whole = { status: null, isPart: false };
  const ofV3 = listStatuses(totals).flatMap(({ status, count }) =>
    status === 'v4_only'
      ? []
      : [
          {
            name: STATUS_NAMES[status],
            count,
            note: `${formatShare(count, v3)} of V3 ids`,
            status,
            isPart: true,
          },
        ],
  );
  const v4 = totals.v4Records + totals.v4Children;
  const rows: NumbersBlock['rows'] = [
    { ...whole, name: 'V3 ids', count: v3, note: idsIn(totals.v3Records, totals.v3Children) },
    ...ofV3,
    { ...whole, name: 'V4 ids', count: v4, note: idsIn(totals.v4Records, totals.v4Children) },
    {
      name: STATUS_NAMES.v4_only,
      count: v4Only,
      note: `${formatShare(v4Only, v4)} of V4 ids`,
      status: 'v4_only',
      isPart: true,
    },
    { ...whole, name: 'rejected', count: totals.rejected, note: 'objects without a usable id' },
    {
      ...whole,
      name: 'pairs in doubt',
      count: totals.uniqueIdConflicts,
      note: 'their unique ids differ',
    },
  ];
  const isShown = ({ name, count, status }: (typeof rows)[number]) =>
    count > 0 || name === 'V3 ids' || name === 'V4 ids' || (status !== null && status !== 'v4_only');
  return { kind: 'numbers', rows: rows.filter(isShown) };
}

/** Rows with a V3 id by status, then all rows without one, of any status, as `v4_only`. */
function listStatuses(counts: Pick<Counts, 'byStatus' | 'v3ByStatus'>): readonly StatusCount[] {
  const { v4Only } = countIds(counts);
  return STATUSES.map((status) => ({
    status,
    count: status === 'v4_only' ? v4Only : counts.v3ByStatus[status],
  }));
}

function obstacleBlocks({ obstacles }: CutoverVerdict, report: Report): Block[] {
  if (obstacles.length === 0) return [];
  const hasLetter = countFullSync(report.fullSync).records > 0;
  const items = obstacles.map(({ key, title, code, numbers, models, meaning, action }) => {
    const samples = sampleId(report, key);
    const isSync = hasLetter && key.endsWith('outside_backfill_window');
    return {
      ...{ title, code, numbers, meaning, action },
      lines: models.map((one) => describeModels(one, MAX_MODELS)),
      links: [
        ...(samples === null ? [] : [{ id: samples, text: 'Samples' }]),
        ...(isSync ? [{ id: 'full-sync', text: 'What to ask the operator for' }] : []),
      ],
    };
  });
  return [{ ...list(items), isOrdered: true }];
}

/** A count for each status that any of the rows has, after the V3 ids. */
function countTable(
  caption: string,
  names: readonly Column[],
  counted: readonly { readonly names: readonly Cell[]; readonly counts: Counts }[],
  total: number,
): TableBlock {
  const rows = counted.map((one) => ({ ...one, statuses: listStatuses(one.counts) }));
  const shown = STATUSES.filter(
    (status, at) =>
      status === 'matched' ||
      status === 'unmatched' ||
      rows.some(({ statuses }) => statuses[at]?.count !== 0),
  );
  const bar: Column = { title: 'Statuses', unordered: true, only: 'page' };
  const columns = [...names, bar, ...numeric('V3 ids', ...shown.map((status) => STATUS_NAMES[status]))];
  const cells = rows.map(({ names: own, counts, statuses }): Cell[] => [
    ...own,
    { kind: 'bar', parts: statuses },
    groupDigits(countIds(counts).v3),
    ...statuses.filter(({ status }) => shown.includes(status)).map(({ count }) => groupDigits(count)),
  ]);
  return table(caption, columns, cells, total);
}

const COUNT_CAPTION = 'V3 ids by status, and V4 ids without a V3 id';

function modelBlocks({ models }: Report): Block[] {
  if (models.length === 0) return [];
  const rows = models.map((one) => ({ names: [one.model, one.v4Model ?? '–'], counts: one }));
  const names: Column[] = [{ title: 'Model' }, { title: 'V4 model', only: 'files' }];
  return [countTable(`${COUNT_CAPTION}, by model.`, names, rows, rows.length)];
}

function ageBlocks({ timeline }: Report): Block[] {
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
  const blocks: Block[] = [
    sentence(text),
    { kind: 'ages', timeline },
    fold('The numbers in this chart', [table('V3 records by month.', columns, rows)]),
  ];
  return [fold('Age of the records', blocks, 'only')];
}

function limitBlocks({ gate, evidence }: Report): Block[] {
  const shown = gate.limits.filter(({ allowed }) => allowed !== null);
  const rows = shown.map((limit): Cell[] => [
    nameOfLimit(limit),
    limit.unit === 'hours' && limit.actual !== null
      ? `read at ${formatTime(evidence.oldestReadAt ?? '')}`
      : describeFound(limit),
    describeAllowed(limit),
    { kind: 'judged', pass: limit.pass },
    limit.configured ? 'configured' : 'default',
  ]);
  const columns: Column[] = [
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

function reasonBlocks({ reasons }: Report): Block[] {
  if (reasons.length === 0) return [];
  const counted = reasons.map(({ key, v3, v4 }) => ({
    key,
    counts: [v3.records, sumSide(v3) - v3.records, v4.records, sumSide(v4) - v4.records],
  }));
  const isUsed = (_: unknown, at: number) => counted.some(({ counts }) => counts[at] !== 0);
  const titles = ['V3 records', 'V3 line items', 'V4 records', 'V4 line items'];
  const columns: Column[] = [
    ...plain('Reason', 'Status / reason'),
    ...numeric(...titles.filter(isUsed)),
    { title: 'What it means', unordered: true, only: 'files' },
    { title: 'What to do', unordered: true, only: 'page' },
  ];
  const rows = counted.map(({ key, counts }): Cell[] => {
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

function companyBlocks({ companies }: Report): Block[] {
  const { shown, total } = firstInOrder(companies, MAX_ROWS, (a, b) => sumFindings(b) - sumFindings(a));
  if (total === 0) return [];
  const rows = shown.map((one) => ({ names: [nameOfCompany(one), one.matchedBy ?? '–'], counts: one }));
  const caption = `${COUNT_CAPTION}, by company, most findings first.`;
  const block = countTable(caption, plain('Company', 'Paired by'), rows, total);
  return [fold(`Companies (${groupDigits(total)})`, [block], 'open')];
}
