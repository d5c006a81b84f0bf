import type { ReportFinding } from '../store/finding-rows.js';
import { describeEvidence, isRowEvidence, prepareDescribeAmbiguous } from '../text/describe-evidence.js';
import { countOf, formatTime, groupDigits } from '../text/numbers.js';
import { bareKey, describeIds, sumIds } from '../text/reason-counts.js';
import { groupBy } from '../text/rows.js';
import { cutText } from '../text/text-layout.js';
import {
  type DocumentBlock,
  type DocumentColumn,
  type FoldBlock,
  fold,
  list,
  numeric,
  plain,
  sentence,
  type TableCell,
  table,
} from './blocks.js';
import { countFullSync, describeKey, listModels, nameOfRange } from './describe.js';
import type { FullSync, Report, ReportStream } from './report-schema.js';

/** Rows and items that are read of what can be very long; each format shows as many of them as fit. */
export const MAX_ROWS = 500;
const MAX_DECISIONS = 100;
const MAX_LISTS = 300;
const MAX_DRIFT_MODELS = 4;

export function ambiguousBlocks({ ambiguousCompanies: all }: Report): DocumentBlock[] {
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

/** One row for each company and model. */
export function fullSyncBlocks({ fullSync }: Report): DocumentBlock[] {
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
  const text = `${countOf(records, 'record')} with ${countOf(lineItems, 'line item')} of ${countOf(companies, 'company', 'companies')} outside V4's history: ask the operator for a full sync.`;
  const block = table('What to ask the operator for, by company and model.', columns, rows, total);
  return [sentence(text), fold(`By company and model (${groupDigits(total)})`, [block], 'open')];
}

/** How many lines of `decisions.csv` were taken, and the first lines that changed nothing. */
export function decisionBlocks({ decisions }: Report): DocumentBlock[] {
  if (decisions === null) return [];
  const { file, taken, stale, notNeeded, idle } = decisions;
  const head = `Decisions: ${countOf(taken, 'line')} of ${file} taken, ${stale} not taken, ${notNeeded} not needed.`;
  const items = idle.slice(0, MAX_DECISIONS).map((one) => {
    const name = one.path === '' ? one.model : `${one.model} ${one.path}`;
    const ids = `${one.v3_svc_id ?? 'none'} → ${one.v4_svc_id ?? 'none'}`;
    return { title: `line ${one.line}: ${name} ${ids} ${one.text}` };
  });
  return [sentence(head), ...(items.length === 0 ? [] : [list(items, stale + notNeeded)])];
}

/** Lists that are not complete; those that ended in the same way are one row. */
export function listBlocks({ completeness }: Report): DocumentBlock[] {
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

export function limitationBlocks({ cannotSee }: Report): DocumentBlock[] {
  const items = cannotSee.map(({ name, text }) => ({ title: name, meaning: text }));
  const title = `What this check cannot see (${items.length}; \`svc-migrate help guarantees\`)`;
  return [fold(title, [list(items)], 'open')];
}

export function evidenceBlocks(report: Report): DocumentBlock[] {
  const { evidence, tool, drift, findings, generatedAt } = report;
  const { remap, conservation } = evidence;
  const read = evidence.oldestReadAt === null ? 'nothing read yet' : formatTime(evidence.oldestReadAt);
  const built =
    remap === null ? 'none' : `${formatTime(remap.builtAt)}, sha256 ${remap.sha256.slice(0, 12)}…`;
  const stale = remap?.stale ? ', out of date' : '';
  const differing =
    drift.differing === 0
      ? ''
      : `, and the ${countOf(drift.differing, 'matched record')} that ${drift.differing === 1 ? 'differs' : 'differ'}`;
  const theirs = report.reasons.reduce((sum, { v3, v4 }) => sum + v3.theirLineItems + v4.theirLineItems, 0);
  const folded =
    theirs === 0
      ? ''
      : ` (${groupDigits(findings.total - theirs)}, and ${countOf(theirs, 'line item')} of these records)`;
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
    sentence(`Oldest evidence: ${read}. Remap: ${built}${stale}.`),
    sentence(
      `Findings: ${groupDigits(findings.total)} ids of V3 or V4${folded}; \`svc-migrate findings\` and \`svc-migrate report --ndjson findings.ndjson\` list them${differing}.`,
    ),
    fold(
      'What this report is based on',
      [table('What this report is based on.', plain('What', 'Value'), rows)],
      'open',
    ),
  ];
}

/** `Drift: 3 of 1,200 matched records …`; empty if nothing differs. */
export function driftBlocks({ drift: { differing, compared, models } }: Report): DocumentBlock[] {
  if (differing === 0) return [];
  const sorted = models.filter((one) => one.differing > 0).sort((a, b) => b.differing - a.differing);
  const counts = sorted.map(({ model, differing: count }) => ({ model, count }));
  const verb = differing === 1 ? 'differs' : 'differ';
  const where = listModels(counts, MAX_DRIFT_MODELS);
  const text = `Drift: ${groupDigits(differing)} of ${countOf(compared, 'matched record')} ${verb} in fields that both sides have (${where}).`;
  return [sentence(text)];
}

/** Lists of the same generation, model and region that have the same state and end reason. */
interface ListGroup {
  readonly first: ReportStream;
  lists: number;
  records: number;
  /** Sum of `totalCountLast`, where it is known. */
  totalCount: number;
  /** Lists whose `totalCountLast` is known. */
  counted: number;
}

/**
 * Groups the lists that are not complete, and counts the complete lists, all, and those read company by company. V4's list of
 * companies counts only where it is not complete, as in `status`.
 */
function groupIncomplete(lists: Iterable<ReportStream>) {
  const groups = new Map<string, ListGroup>();
  let [complete, all, byCompany] = [0, 0, 0];
  for (const one of lists) {
    const isCompanyList = one.generation === 'v4' && one.companyId === null;
    if (isCompanyList && one.state === 'complete') continue;
    all += 1;
    if (one.readBy === 'companies') byCompany += 1;
    if (one.state === 'complete') complete += 1;
    else addList(groups, one);
  }
  return { groups: [...groups.values()], complete, all, byCompany };
}

function addList(groups: Map<string, ListGroup>, one: ReportStream): void {
  const key = JSON.stringify([one.generation, one.model, one.region, one.state, one.endReason]);
  const group = groups.get(key) ?? { first: one, lists: 0, records: 0, totalCount: 0, counted: 0 };
  groups.set(key, group);
  group.lists += 1;
  group.records += one.uniqueRecords;
  group.totalCount += one.totalCountLast ?? 0;
  group.counted += one.totalCountLast === null ? 0 : 1;
}

const MAX_CHARS = 300;

/** The first findings of each reason, the most frequent reason first; shown on the HTML page only. */
export function sampleBlocks({ findings, reasons }: Report): DocumentBlock[] {
  if (findings.samples.length === 0) return [];
  const groups = groupBy(findings.samples, keyOf);
  const counts = new Map(reasons.map((one) => [one.key, one]));
  const sizeOf = (key: string) => {
    const ids = counts.get(key);
    return ids === undefined ? 0 : sumIds(ids);
  };
  const sorted = [...groups].sort(([a], [b]) => sizeOf(b) - sizeOf(a));
  const folds = sorted.map(([key, samples]) => {
    const ids = counts.get(key);
    return foldOf(key, samples, ids === undefined ? '' : describeIds(ids));
  });
  const text = `The first of each reason. The full list: ${findings.fullList}.`;
  const blocks: DocumentBlock[] = [{ kind: 'sentence', text }, ...folds];
  return [{ kind: 'fold', title: 'Samples', blocks, page: 'only' }];
}

/** The id of the samples of a reason or status; null if there are none. */
export function sampleId({ findings }: Report, key: string): string | null {
  const found = findings.samples.map(keyOf).find((one) => one === key || one.startsWith(`${key}/`));
  return found === undefined ? null : anchorOf(found);
}

function keyOf({ status, reason }: ReportFinding): string {
  return reason === null ? status : bareKey(`${status}/${reason}`);
}

function anchorOf(key: string): string {
  return `sample-${key.replace(/[^a-z0-9_]/g, '-')}`;
}

const COLUMNS: readonly DocumentColumn[] = [
  ...['Model', 'platform_id', 'V3 id', 'V4 id', 'Company'].map((title) => ({ title })),
  { title: 'Evidence', unordered: true },
];

function foldOf(key: string, samples: readonly ReportFinding[], ids: string): FoldBlock {
  const { title, meaning } = describeKey(key);
  const rows = samples.map(cellsOf);
  const caption = `Samples of ${key}.`;
  return {
    kind: 'fold',
    title: [title === '' ? key : title, ids].filter((text) => text !== '').join(': '),
    code: key,
    id: anchorOf(key),
    blocks: [
      { kind: 'sentence', text: meaning },
      { kind: 'table', caption, columns: COLUMNS, rows, total: rows.length },
    ],
  };
}

function cellsOf(one: ReportFinding): TableCell[] {
  return [
    one.path === '' ? one.model : `${one.model} › ${one.path}`,
    { kind: 'code', text: cutText(one.platform_id ?? '–', MAX_CHARS) },
    one.v3_svc_id ?? '–',
    one.v4_svc_id ?? '–',
    `${one.v3_company_id ?? '–'} → ${one.v4_company_id ?? '–'}${one.region === null ? '' : ` (${one.region})`}`,
    { kind: 'sentences', texts: sentencesOf(one).map((text) => cutText(text, MAX_CHARS)) },
  ];
}

function sentencesOf({ evidence, reason }: ReportFinding): string[] {
  const sentences = isRowEvidence(evidence) ? describeEvidence(evidence, reason) : [JSON.stringify(evidence)];
  return sentences.length === 0 ? ['–'] : sentences;
}
