import { shownState } from '../domain.js';
import type { ReportFinding } from '../store/finding-rows.js';
import { describeEvidence, isRowEvidence, prepareDescribeAmbiguous } from '../text/describe-evidence.js';
import { countOf, formatTime, groupDigits } from '../text/numbers.js';
import { bareKey, describeIds, sumIds } from '../text/reason-counts.js';
import { groupBy } from '../text/rows.js';
import { cutText } from '../text/text-layout.js';
import {
  type DocumentBlock,
  type DocumentColumn,
  fold,
  list,
  numeric,
  plain,
  sentence,
  type TableCell,
  table,
} from './blocks.js';
import { describeKey, listModels } from './build-verdict.js';
import type { Report, ReportStream } from './report-schema.js';

/** Rows and items that are read of what can be very long; each format shows as many of them as fit. */
export const MAX_ROWS = 500;

export function ambiguousBlocks({ ambiguousCompanies: all }: Report): DocumentBlock[] {
  const titles = all.slice(0, MAX_ROWS).map(prepareDescribeAmbiguous(all));
  const draft = '`svc-migrate findings --write-companies companies-draft.csv` drafts a line for each.';
  if (all.length === 0) return [];
  return [
    list(
      titles.map((title) => ({ title })),
      all.length,
    ),
    sentence(draft),
  ];
}

/** One row for each company and model. */
export function fullSyncBlocks({ fullSync }: Report): DocumentBlock[] {
  const companies = new Set<string>();
  let [total, records, lineItems] = [0, 0, 0];
  const rows: string[][] = [];
  for (const one of fullSync) {
    const company = `${one.v3CompanyId} in ${one.region}`;
    companies.add(company);
    total += 1;
    records += one.records;
    lineItems += one.children;
    if (rows.length === MAX_ROWS) continue;
    const dates = [one.earliest, one.latest].map((date) => date?.slice(0, 10) ?? '–').join(' to ');
    const counts = [one.records, one.children].map(groupDigits);
    rows.push([company, one.v4CompanyId ?? '–', one.model, ...counts, dates]);
  }
  if (total === 0) return [];
  const columns = [
    ...plain('V3 company', 'V4 company', 'Model'),
    ...numeric('Records', 'Line items'),
    ...plain('Dates'),
  ];
  const text = `${countOf(records, 'record')} with ${countOf(lineItems, 'line item')} of ${countOf(companies.size, 'company', 'companies')} outside V4's history: ask the operator for a full sync.`;
  const block = table('What to ask the operator for, by company and model.', columns, rows, total);
  return [sentence(text), fold(`By company and model (${groupDigits(total)})`, [block], 'open')];
}

const MAX_DECISIONS = 100;

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

const MAX_DRIFT_MODELS = 4;

/** `Drift: 3 of 1,200 matched records …`; empty if nothing differs. */
export function driftBlocks({ drift: { differing, compared, models } }: Report): DocumentBlock[] {
  if (differing === 0) return [];
  const sorted = models.filter((one) => one.differing > 0).sort((a, b) => b.differing - a.differing);
  const where = listModels(
    sorted.map(({ model, differing: count }) => ({ model, count })),
    MAX_DRIFT_MODELS,
  );
  const verb = differing === 1 ? 'differs' : 'differ';
  const records = `${groupDigits(differing)} of ${countOf(compared, 'matched record')}`;
  return [sentence(`Drift: ${records} ${verb} in fields that both sides have (${where}).`)];
}

const MAX_LISTS = 300;

/**
 * Lists that are not complete; those of a model that ended in the same way are one row. V4's list of companies counts
 * only where it is not complete, as in `status`.
 */
export function listBlocks({ completeness, scope, totals }: Report): DocumentBlock[] {
  const groups = new Map<
    string,
    { first: ReportStream; state: string; lists: number; records: number; counts: number[] }
  >();
  const states = new Map<string, number>();
  let [all, byCompany] = [0, 0];
  for (const one of completeness) {
    const { generation, companyId, model, region, endReason, totalCountLast } = one;
    const state = shownState(one.state, one.pages > 0);
    if (generation === 'v4' && companyId === null && state === 'complete') continue;
    all += 1;
    states.set(state, (states.get(state) ?? 0) + 1);
    if (one.readBy === 'companies') byCompany += 1;
    if (state === 'complete') continue;
    const key = JSON.stringify([generation, model, region, state, endReason]);
    const group = groups.get(key) ?? { first: one, state, lists: 0, records: 0, counts: [] };
    groups.set(key, group);
    group.lists += 1;
    group.records += one.uniqueRecords;
    if (totalCountLast !== null) group.counts.push(totalCountLast);
  }
  const complete = groupDigits(states.get('complete') ?? 0);
  states.delete('complete');
  const others = [...states].map(([state, lists]) => `, ${groupDigits(lists)} ${state}`).join('');
  const divided = byCompany === 0 ? '' : `; ${groupDigits(byCompany)} of V3 company by company`;
  const selected = scope.models === null && scope.companies === null ? '' : ' of this selection';
  const needsOthers = selected !== '' && (totals.byReason['unmatched/scope_incomplete'] ?? 0) > 0;
  const more = needsOthers ? ' That a company has no pair is known once all others are read too.' : '';
  const head = sentence(
    `${complete} of ${countOf(all, 'list')}${selected} read completely${others}${divided}.${more}`,
  );
  if (groups.size === 0) return [head];
  const rows = [...groups.values()]
    .slice(0, MAX_LISTS)
    .map(({ first, state, lists, records, counts }) => [
      `${first.generation.toUpperCase()} ${first.model}`,
      first.region === '' ? '–' : first.region,
      lists === 1 ? (first.companyId ?? 'all') : countOf(lists, 'company', 'companies'),
      state,
      first.endReason ?? '–',
      groupDigits(records),
      counts.length < lists ? '–' : groupDigits(counts.reduce((sum, n) => sum + n, 0)),
    ]);
  const columns = [
    ...plain('List', 'Region', 'Company', 'State', 'Ended by'),
    ...numeric('Records', 'Counted by the service'),
  ];
  const block = table('Lists that are not complete.', columns, rows, groups.size);
  return [head, fold(`Lists that are not complete (${groupDigits(groups.size)})`, [block], 'open')];
}

export function limitationBlocks({ cannotSee }: Report): DocumentBlock[] {
  const items = cannotSee.map(({ name, text }) => ({ title: name, meaning: text }));
  const title = `What this check cannot see (${items.length}; \`svc-migrate help guarantees\`)`;
  return [fold(title, [list(items)], 'open')];
}

export function evidenceBlocks({
  evidence,
  tool,
  drift,
  findings,
  reasons,
  generatedAt,
}: Report): DocumentBlock[] {
  const { remap, conservation, oldestReadAt } = evidence;
  const read = oldestReadAt === null ? 'nothing read yet' : formatTime(oldestReadAt);
  const built = remap === null ? 'none' : `${formatTime(remap.builtAt)}${remap.stale ? ', out of date' : ''}`;
  const digest = remap === null ? '' : `, sha256 ${remap.sha256.slice(0, 12)}…`;
  const verb = drift.differing === 1 ? 'differs' : 'differ';
  const differing =
    drift.differing === 0 ? '' : `, and the ${countOf(drift.differing, 'matched record')} that ${verb}`;
  const theirs = reasons.reduce((sum, { v3, v4 }) => sum + v3.theirLineItems + v4.theirLineItems, 0);
  const own = groupDigits(findings.total - theirs);
  const folded = theirs === 0 ? '' : ` (${own}, and ${countOf(theirs, 'line item')} of these records)`;
  const rows = [
    ['Generated', `${formatTime(generatedAt)} by ${tool.name} ${tool.version}`],
    ['Database', evidence.database],
    ['Oldest evidence', read],
    ['Remap', built],
    [
      'Conservation',
      conservation.holds === null
        ? 'not checked: there is no current remap'
        : `${countOf(conservation.v3Exported, 'exported V3 id')}, ${countOf(conservation.v3Rows, 'row')} with a V3 id`,
    ],
    ...Object.entries(evidence.fingerprint),
  ];
  const based = 'What this report is based on';
  return [
    sentence(`Oldest evidence: ${read}. Remap: ${built}${digest}.`),
    sentence(
      `Findings: ${groupDigits(findings.total)} ids of V3 or V4${folded}; \`svc-migrate findings\` and \`svc-migrate report --ndjson findings.ndjson\` list them${differing}.`,
    ),
    fold(
      based,
      [
        table(`${based}.`, plain('What', 'Value'), rows),
        // In the table it would break over two lines.
        ...(remap === null ? [] : [sentence(`Remap sha256 ${remap.sha256}`)]),
      ],
      'open',
    ),
  ];
}

const MAX_CHARS = 300;

/** The first findings of each reason, the most frequent reason first; shown on the HTML page only. */
export function sampleBlocks({ findings, reasons }: Report): DocumentBlock[] {
  if (findings.samples.length === 0) return [];
  const counts = new Map(
    reasons.map((one) => [one.key, { size: sumIds(one), ids: `: ${describeIds(one)}` }]),
  );
  const sorted = [...groupBy(findings.samples, keyOf)]
    .map(([key, samples]) => ({ key, samples, ...(counts.get(key) ?? { size: 0, ids: '' }) }))
    .sort((a, b) => b.size - a.size);
  const columns: DocumentColumn[] = [
    ...plain('Model', 'platform_id', 'V3 id', 'V4 id', 'Company'),
    { title: 'Evidence', unordered: true },
  ];
  const folds = sorted.map(({ key, samples, ids }) => {
    const { title, meaning } = describeKey(key);
    const blocks = [sentence(meaning), table(`Samples of ${key}.`, columns, samples.map(cellsOf))];
    return { ...fold(`${title === '' ? key : title}${ids}`, blocks), code: key, id: anchorOf(key) };
  });
  const text = `The first of each reason. The full list: ${findings.fullList}.`;
  return [fold('Samples', [sentence(text), ...folds], 'only')];
}

export function keyOf({ status, reason }: ReportFinding): string {
  return reason === null ? status : bareKey(`${status}/${reason}`);
}

export function anchorOf(key: string): string {
  return `sample-${key.replace(/[^a-z0-9_]/g, '-')}`;
}

function cellsOf({ evidence, reason, ...one }: ReportFinding): TableCell[] {
  const sentences = isRowEvidence(evidence) ? describeEvidence(evidence, reason) : [JSON.stringify(evidence)];
  const companies = `${one.v3_company_id ?? '–'} → ${one.v4_company_id ?? '–'}`;
  return [
    one.path === '' ? one.model : `${one.model} › ${one.path}`,
    { kind: 'code', text: cutText(one.platform_id ?? '–', MAX_CHARS) },
    one.v3_svc_id ?? '–',
    one.v4_svc_id ?? '–',
    one.region === null ? companies : `${companies} (${one.region})`,
    cutText(sentences.join(' '), MAX_CHARS * 3) || '–',
  ];
}
