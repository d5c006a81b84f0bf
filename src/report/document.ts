import { STATUSES } from '../reasons.js';
import { prepareDescribeAmbiguous } from '../text/describe-evidence.js';
import { countOf, formatShare, formatTime, groupDigits } from '../text/numbers.js';
import { firstInOrder, groupBy } from '../text/rows.js';
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
  nameOfLimit,
} from './build-verdict.js';
import {
  countFullSync,
  countIds,
  describeCode,
  describeDecisions,
  describeDrift,
  describeKey,
  describeScope,
  listModels,
  nameOfCompany,
  nameOfRange,
  sumFindings,
} from './describe.js';
import { groupIncomplete } from './incomplete-lists.js';
import { sumIds } from './reason-counts.js';
import type { Counts, FullSync, Report } from './report-schema.js';
import { sampleBlocks, sampleId } from './samples.js';

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

/** Rows and items that are read of what can be very long; each format shows as many of them as fit. */
const MAX_ROWS = 500;
const MAX_DECISIONS = 100;
const MAX_LISTS = 300;
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
    { id: 'drift', title: 'Pairs with different fields', blocks: noteBlocks(describeDrift(report.drift)) },
    { id: 'code', title: 'Uses of V3 in code', blocks: noteBlocks(describeCode(report.codeUses)) },
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
    { ...whole, name: 'unique id conflicts', count: totals.uniqueIdConflicts, note: 'pairs' },
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
      lines: models.length === 0 ? [] : [listModels(models, MAX_MODELS)],
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
      ? 'The backfill window is not configured; it was inferred for each company.'
      : `The backfill window starts ${formatTime(since)}.`;
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
    counts: [v3.records, sumIds(v3) - v3.records, v4.records, sumIds(v4) - v4.records],
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

function ambiguousBlocks({ ambiguousCompanies: all }: Report): Block[] {
  if (all.length === 0) return [];
  const items = all.slice(0, MAX_ROWS).map(prepareDescribeAmbiguous(all));
  const draft = '`svc-migrate findings --write-companies companies-draft.csv` drafts a line for each.';
  return [
    list(
      items.map((title) => ({ title })),
      all.length,
    ),
    sentence(draft),
  ];
}

function companyBlocks({ companies }: Report): Block[] {
  const { shown, total } = firstInOrder(companies, MAX_ROWS, (a, b) => sumFindings(b) - sumFindings(a));
  if (total === 0) return [];
  const rows = shown.map((one) => ({ names: [nameOfCompany(one), one.matchedBy ?? '–'], counts: one }));
  const caption = `${COUNT_CAPTION}, by company, most findings first.`;
  const block = countTable(caption, plain('Company', 'Paired by'), rows, total);
  return [fold(`Companies (${groupDigits(total)})`, [block], 'open')];
}

/** One row for each company and model. */
function fullSyncBlocks({ fullSync }: Report): Block[] {
  const { companies, records, lineItems } = countFullSync(fullSync);
  if (records + lineItems === 0) return [];
  const first: FullSync[] = [];
  let total = 0;
  for (const one of fullSync) {
    total += 1;
    if (total <= MAX_ROWS) first.push(one);
  }
  const rows = first.map((one) => [
    `${one.v3CompanyId} in ${one.region}`,
    one.v4CompanyId ?? '–',
    one.model,
    groupDigits(one.records),
    groupDigits(one.children),
    nameOfRange(one),
  ]);
  const columns = [
    ...plain('V3 company', 'V4 company', 'Model'),
    ...numeric('Records', 'Line items'),
    ...plain('Dates'),
  ];
  const text = `${countOf(records, 'record')} with ${countOf(lineItems, 'line item')} of ${countOf(companies, 'company', 'companies')} outside V4's history: ask the operator for a full sync. \`svc-migrate report --full-sync full-sync.md\` writes the letter.`;
  const block = table('What to ask the operator for, by company and model.', columns, rows, total);
  return [sentence(text), fold(`By company and model (${groupDigits(total)})`, [block], 'open')];
}

function decisionBlocks({ decisions }: Report): Block[] {
  if (decisions === null) return [];
  const [head = '', ...lines] = describeDecisions(decisions, MAX_DECISIONS);
  const idle = decisions.stale + decisions.notNeeded;
  return [
    sentence(head),
    ...(idle === 0
      ? []
      : [
          list(
            lines.map((title) => ({ title })),
            idle,
          ),
        ]),
  ];
}

/** A sentence and its details. */
function noteBlocks([head, ...lines]: readonly string[]): Block[] {
  if (head === undefined) return [];
  return [sentence(head), ...(lines.length === 0 ? [] : [list(lines.map((title) => ({ title })))])];
}

/** Lists that are not complete; those that ended in the same way are one row. */
function listBlocks({ completeness }: Report): Block[] {
  const { groups, complete, all, byCompany } = groupIncomplete(completeness);
  const divided = byCompany === 0 ? '' : `; ${groupDigits(byCompany)} of V3 company by company`;
  const byState = groupBy(groups, ({ first }) => first.state);
  const states = [...byState].map(([state, own]) => {
    const lists = own.reduce((sum, one) => sum + one.lists, 0);
    return `, ${groupDigits(lists)} ${state}`;
  });
  const head = sentence(
    `${groupDigits(complete)} of ${countOf(all, 'list')} read completely${states.join('')}${divided}.`,
  );
  if (groups.length === 0) return [head];
  const rows = groups
    .slice(0, MAX_LISTS)
    .map(({ first, lists, records, totalCount, counted }) => [
      `${first.generation.toUpperCase()} ${first.model}`,
      first.region === '' ? '–' : first.region,
      lists === 1 ? (first.companyId ?? 'all') : countOf(lists, 'company', 'companies'),
      first.state,
      first.endReason ?? '–',
      groupDigits(records),
      counted < lists ? '–' : groupDigits(totalCount),
    ]);
  const columns = [
    ...plain('List', 'Region', 'Company', 'State', 'Ended by'),
    ...numeric('Records', 'Counted by the service'),
  ];
  const block = table('Lists that are not complete.', columns, rows, groups.length);
  return [head, fold(`Lists that are not complete (${groupDigits(groups.length)})`, [block], 'open')];
}

function limitationBlocks({ cannotSee }: Report): Block[] {
  const items = cannotSee.map(({ name, text }) => ({ title: name, meaning: text }));
  const title = `What this check cannot see (${items.length}; \`svc-migrate help guarantees\`)`;
  return [fold(title, [list(items)], 'open')];
}

function evidenceBlocks(report: Report): Block[] {
  const { evidence, tool, codeUses, drift, findings, generatedAt } = report;
  const { remap, conservation } = evidence;
  const read = evidence.oldestReadAt === null ? 'nothing read yet' : formatTime(evidence.oldestReadAt);
  const built =
    remap === null ? 'none' : `${formatTime(remap.builtAt)}, sha256 ${remap.sha256.slice(0, 12)}…`;
  const stale = remap?.stale ? ', older than the exported data' : '';
  const scan = codeUses === null ? '' : ` Scan of the code: ${formatTime(codeUses.scannedAt)}.`;
  const differing =
    drift.differing === 0
      ? ''
      : `, and the ${countOf(drift.differing, 'matched record')} that ${drift.differing === 1 ? 'differs' : 'differ'}`;
  const rows = [
    ['Generated', `${formatTime(generatedAt)} by ${tool.name} ${tool.version}`],
    ['Database', evidence.database],
    ['Oldest evidence', read],
    ['Remap', remap === null ? 'none' : `${formatTime(remap.builtAt)}, sha256 ${remap.sha256}${stale}`],
    [
      'Conservation',
      `${countOf(conservation.v3Exported, 'exported V3 id')}, ${countOf(conservation.v3Rows, 'row')} with a V3 id`,
    ],
    ...Object.entries(evidence.fingerprint),
  ];
  return [
    sentence(`Oldest evidence: ${read}. Remap: ${built}${stale}.${scan}`),
    sentence(
      `Findings: ${groupDigits(findings.total)} ids of V3 or V4; \`svc-migrate findings\` and \`svc-migrate report --ndjson findings.ndjson\` list them${differing}.`,
    ),
    fold(
      'What this report is based on',
      [table('What this report is based on.', plain('What', 'Value'), rows)],
      'open',
    ),
  ];
}
