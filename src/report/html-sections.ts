import { STATUSES } from '../reasons.js';
import type { ReportFinding } from '../store/finding.js';
import { countOf, formatTime, groupDigits } from '../text/numbers.js';
import type { CutoverVerdict } from './build-verdict.js';
import { describeDecisions, describeKey, listModels } from './describe.js';
import { renderKey, renderStatusBar, renderTimeline, renderTrend, TREND } from './html-charts.js';
import { type Html, html, htmlTable, withCode } from './html-template.js';
import type { Counts, Report } from './report-schema.js';
import {
  companyTable,
  fullSyncTable,
  limitTable,
  modelTable,
  numeric,
  reasonTable,
  STATUS_NAMES,
  sortCompanies,
} from './tables.js';

/** A part of the page with its own heading. */
export interface Section {
  readonly id: string;
  readonly title: string;
  /** Null if there is nothing to show. */
  readonly body: Html | null;
}

const COMPANIES = 500;
const OPEN_ROWS = 20;
const FULL_SYNCS = 500;
const DECISIONS = 100;
const LISTS = 300;
const MODELS_NAMED = 8;

const STATUS_KEY = STATUSES.map((status) => [status, STATUS_NAMES[status]] as const);

/** The sections that have something to show, in order. */
export function listSections(report: Report, verdict: CutoverVerdict): readonly Section[] {
  const all: readonly Section[] = [
    { id: 'obstacles', title: 'What stands in the way', body: renderObstacles(verdict) },
    { id: 'models', title: 'Models', body: renderModels(report) },
    { id: 'timeline', title: 'Age of the records', body: renderAges(report) },
    { id: 'trend', title: 'Trend', body: renderBuilds(report) },
    { id: 'limits', title: 'Limits', body: renderLimits(report) },
    { id: 'reasons', title: 'Reasons', body: renderReasons(report) },
    { id: 'companies', title: 'Companies', body: renderCompanies(report) },
    { id: 'full-sync', title: 'Full sync to ask for', body: renderFullSyncRows(report) },
    { id: 'decisions', title: 'Decisions', body: renderDecisions(report) },
    { id: 'samples', title: 'Samples', body: renderSamples(report) },
    { id: 'lists', title: 'Lists read', body: renderLists(report) },
    { id: 'cannot-see', title: 'What this check cannot see', body: renderLimitations(report) },
  ];
  return all.filter(({ body }) => body !== null);
}

function renderObstacles({ obstacles }: CutoverVerdict): Html | null {
  if (obstacles.length === 0) return null;
  const items = obstacles.map(({ key, numbers, meaning, action, models }) => {
    const found = models.length === 0 ? null : html`<p class="meta">${listModels(models, MODELS_NAMED)}</p>`;
    return html`<li><h3>${nameOf(key)}${numbers === '' ? '' : `: ${numbers}`}</h3>
<p>${withCode(meaning)} <strong>${withCode(action)}</strong></p>
${found}</li>
`;
  });
  return html`<ol class="obstacles">${items}</ol>`;
}

/** The plain title, followed by the key. */
function nameOf(key: string): Html {
  const { title } = describeKey(key);
  return title === '' ? html`<code>${key}</code>` : html`${title} <code>${key}</code>`;
}

/** Inserts a bar of the statuses into a table, at column `at`. */
function withBars(
  columns: readonly { title: string }[],
  rows: readonly (readonly (string | Html)[])[],
  counts: readonly Counts[],
  at: number,
) {
  return {
    columns: columns.toSpliced(at, 0, { title: 'Statuses' }),
    rows: rows.map((row, index) => {
      const own = counts[index];
      return own === undefined ? row : row.toSpliced(at, 0, renderStatusBar(own));
    }),
  };
}

function renderModels(report: Report): Html | null {
  if (report.models.length === 0) return null;
  const plain = modelTable(report);
  const rows = plain.rows.map(([model = '', v4 = '', ...counts]) => [
    html`${model}<br><span class="meta">V4: ${v4 === '–' ? 'none' : v4}</span>`,
    ...counts,
  ]);
  const table = withBars(plain.columns.toSpliced(1, 1), rows, report.models, 1);
  return html`${renderKey(STATUS_KEY)}${htmlTable('V3 ids by model and status.', table.columns, table.rows)}`;
}

function renderAges({ timeline }: Report): Html | null {
  const months = [timeline.earlier, ...timeline.months, timeline.later].filter((month) => month !== null);
  if (months.length === 0) return null;
  const rows = months.map(({ month, matched, unmatched, other }) => [
    month,
    ...[matched, unmatched, other].map(groupDigits),
  ]);
  const columns = [{ title: 'Month' }, ...['matched', 'unmatched', 'other'].map(numeric)];
  const { since } = timeline.window;
  const window =
    since === null
      ? 'The backfill window is not configured; it was inferred for each company.'
      : `The backfill window starts ${formatTime(since)}.`;
  const undated =
    timeline.undated === 0 ? '' : ` ${countOf(timeline.undated, 'record')} without a readable date.`;
  const key = [
    ['matched', 'matched'],
    ['unmatched', 'unmatched'],
    ['other', 'deleted or ambiguous'],
  ] as const;
  return html`<p>V3 records by the month of their latest date. ${window}${undated}</p>
${renderKey(key)}${renderTimeline(timeline)}<details><summary>The numbers behind this picture</summary>
${htmlTable('V3 records by month.', columns, rows)}</details>
`;
}

function renderBuilds({ trend }: Report): Html | null {
  if (trend.length < 2) return null;
  const rows = trend.map(({ builtAt, byStatus }) => [
    formatTime(builtAt),
    ...STATUSES.map((status) => groupDigits(byStatus[status])),
  ]);
  const columns = [{ title: 'Built' }, ...STATUSES.map(numeric)];
  const key = TREND.map((status) => [status, status] as const);
  return html`${renderKey(key)}${renderTrend(trend)}<details><summary>The numbers behind this picture</summary>
${htmlTable('Rows by status at each build of the remap.', columns, rows)}</details>
`;
}

function renderLimits({ gate: { limits } }: Report): Html {
  const { columns, rows } = limitTable(limits);
  const judged = limits.map(({ pass, configured }) => [
    pass ? html`<span class="ok">ok</span>` : html`<span class="over">exceeded</span>`,
    configured ? 'your configuration' : 'default',
  ]);
  return htmlTable(
    'Every limit that is configured or judged a row.',
    [...columns, { title: 'Verdict' }, { title: 'From' }],
    rows.map((row, at) => [...row, ...(judged[at] ?? [])]),
  );
}

function renderReasons(report: Report): Html | null {
  const { columns, rows } = reasonTable(report);
  if (rows.length === 0) return null;
  const cells = rows.map(([title = '', key = '', count = '', meaning = '', action = '']) => [
    title,
    html`<code>${key}</code>`,
    count,
    meaning,
    withCode(action),
  ]);
  return htmlTable('Rows that are not matched, by reason.', columns, cells);
}

function renderCompanies(report: Report): Html | null {
  if (report.companies.length === 0) return null;
  const plain = companyTable(report);
  const { columns, rows } = withBars(plain.columns, plain.rows.slice(0, COMPANIES), sortCompanies(report), 2);
  const first = htmlTable('Companies, most findings first.', columns, rows.slice(0, OPEN_ROWS));
  const rest = rows.slice(OPEN_ROWS);
  const others =
    rest.length === 0
      ? null
      : html`<details><summary>${countOf(rest.length, 'more company', 'more companies')}</summary>
${htmlTable('More companies, most findings first.', columns, rest)}</details>`;
  const more = plain.rows.length - rows.length;
  const name = countOf(more, 'more company', 'more companies');
  return html`${first}${others}${more > 0 ? html`<p>${name}: see the JSON report.</p>` : null}`;
}

function renderFullSyncRows(report: Report): Html | null {
  const { columns, rows } = fullSyncTable(report);
  if (rows.length === 0) return null;
  const more = rows.length - FULL_SYNCS;
  const name = countOf(more, 'more row');
  const note = more > 0 ? html`<p>${name}: see fullSync in the JSON report.</p>` : null;
  return html`<p>These records are older than the backfill window. V4 loads them when the operator runs a full sync.</p>
${htmlTable('What to ask the operator for.', columns, rows.slice(0, FULL_SYNCS))}${note}`;
}

/** The number of decisions by outcome, and those that changed nothing. */
function renderDecisions({ decisions }: Report): Html | null {
  if (decisions === null) return null;
  const [head = ''] = describeDecisions(decisions, 0);
  const rows = decisions.idle
    .slice(0, DECISIONS)
    .map((one) => [
      String(one.line),
      one.path === '' ? one.model : `${one.model} ${one.path}`,
      one.v3_svc_id ?? 'none',
      one.v4_svc_id ?? 'none',
      one.text,
      one.note,
    ]);
  const titles = ['Line', 'Model', 'V3 id', 'V4 id', 'What became of it', 'Note'];
  const columns = titles.map((title) => ({ title }));
  const table = rows.length === 0 ? null : htmlTable('Decisions that changed nothing.', columns, rows);
  return html`<p>${head}</p>${table}`;
}

function renderSamples({ findings }: Report): Html | null {
  if (findings.samples.length === 0) return null;
  const groups = new Map<string, ReportFinding[]>();
  for (const sample of findings.samples) {
    const key = sample.reason === null ? sample.status : `${sample.status}/${sample.reason}`;
    groups.set(key, [...(groups.get(key) ?? []), sample]);
  }
  const titles = ['Model', 'platform_id', 'V3 id', 'V4 id', 'Company', 'Evidence'];
  const columns = titles.map((title) => ({ title }));
  const parts = [...groups].map(
    ([key, samples]) => html`<details><summary>${nameOf(key)}</summary>
<p>${describeKey(key).meaning}</p>
${htmlTable(`Samples of ${key}.`, columns, samples.map(sampleCells))}</details>
`,
  );
  return html`<p>${countOf(findings.total, 'finding')} in all, up to five shown of each kind. The full list: ${withCode(findings.fullList)}.</p>
${parts}`;
}

const SHOWN_CHARS = 300;

function sampleCells(one: ReportFinding): (string | Html)[] {
  const code = (text: string) =>
    html`<code>${text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text}</code>`;
  return [
    one.path === '' ? one.model : `${one.model} › ${one.path}`,
    code(one.platform_id ?? '–'),
    one.v3_svc_id ?? '–',
    one.v4_svc_id ?? '–',
    `${one.v3_company_id ?? '–'} → ${one.v4_company_id ?? '–'}${one.region === null ? '' : ` (${one.region})`}`,
    code(JSON.stringify(one.evidence)),
  ];
}

function renderLists({ completeness }: Report): Html {
  const open = completeness.filter((one) => one.state !== 'complete');
  const rows = open
    .slice(0, LISTS)
    .map((one) => [
      `${one.generation.toUpperCase()} ${one.model}`,
      one.region === '' ? '–' : one.region,
      one.companyId ?? 'all',
      one.state,
      one.endReason ?? '–',
      groupDigits(one.uniqueRecords),
      one.totalCountLast === null ? '–' : groupDigits(one.totalCountLast),
    ]);
  const titles = ['List', 'Region', 'Company', 'State', 'Ended by'];
  const columns = [
    ...titles.map((title) => ({ title })),
    numeric('Records'),
    numeric('Counted by the service'),
  ];
  const complete = completeness.length - open.length;
  const table = rows.length === 0 ? null : htmlTable('Lists that are not complete.', columns, rows);
  const more = open.length - rows.length;
  return html`<p>${groupDigits(complete)} of ${countOf(completeness.length, 'list')} read to the end without a doubt.</p>
${table}${more > 0 ? html`<p>${groupDigits(more)} more: see the JSON report.</p>` : null}`;
}

function renderLimitations({ cannotSee }: Report): Html {
  const items = cannotSee.map((one) => html`<li><strong>${one.name}</strong>: ${withCode(one.text)}</li>\n`);
  return html`<ul>
${items}</ul>
`;
}
