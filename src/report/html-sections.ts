import { STATUSES } from '../reasons.js';
import type { ReportFinding } from '../store/finding.js';
import { countOf, formatTime, groupDigits } from '../text/numbers.js';
import { describeKey } from './describe-key.js';
import { renderKey, renderStatusBar, renderTimeline, renderTrend, STATUS_NAMES } from './html-charts.js';
import { type Html, html, htmlList, htmlTable, withCode } from './html-template.js';
import { nameOfCompany, totalFindings } from './people.js';
import type { Counts, Report } from './schema.js';
import { describeAllowed, type Verdict } from './verdict.js';

/** A part of the page with its own heading; null where there is nothing to show. */
export interface Section {
  readonly id: string;
  readonly title: string;
  readonly body: Html;
}

const COMPANIES = 500;
const OPEN_ROWS = 20;
const LISTS = 300;
const MODELS_NAMED = 8;

const N = { numeric: true } as const;
const STATUS_COLUMNS = STATUSES.map((status) => ({ title: STATUS_NAMES[status], ...N }));
const STATUS_KEY = STATUSES.map((status) => [status, STATUS_NAMES[status]] as const);

export function obstacleSection({ obstacles }: Verdict): Section | null {
  if (obstacles.length === 0) return null;
  const items = obstacles.map((one) => {
    const models = one.models
      .slice(0, MODELS_NAMED)
      .map(({ model, count }) => `${model} ${groupDigits(count)}`);
    const more = one.models.length > MODELS_NAMED ? [`${one.models.length - MODELS_NAMED} more models`] : [];
    return html`<li><h3>${nameOf(one.key)}${one.numbers === '' ? '' : `: ${one.numbers}`}</h3>
<p>${withCode(one.meaning)} <strong>${withCode(one.action)}</strong></p>
${models.length === 0 ? null : html`<p class="meta">${[...models, ...more].join(', ')}</p>`}</li>
`;
  });
  return {
    id: 'obstacles',
    title: 'What stands in the way',
    body: html`<ol class="obstacles">${items}</ol>`,
  };
}

/** The plain title with the key beside it. */
function nameOf(key: string): Html {
  const { title } = describeKey(key);
  return title === '' ? html`<code>${key}</code>` : html`${title} <code>${key}</code>`;
}

export function modelSection(report: Report): Section | null {
  if (report.models.length === 0) return null;
  const rows = report.models.map((model) => [
    html`${model.model}<br><span class="meta">V4: ${model.v4Model ?? 'none'}</span>`,
    renderStatusBar(model.byStatus),
    groupDigits(model.v3Records + model.v3Children),
    ...statusCells(model),
  ]);
  const columns = [{ title: 'Model' }, { title: 'Statuses' }, { title: 'V3 ids', ...N }, ...STATUS_COLUMNS];
  const body = html`${renderKey(STATUS_KEY)}${htmlTable('Rows of the remap by model and status.', columns, rows)}`;
  return { id: 'models', title: 'Models', body };
}

function statusCells(counts: Counts): string[] {
  return STATUSES.map((status) => groupDigits(counts.byStatus[status]));
}

export function timelineSection({ timeline }: Report): Section | null {
  const months = [timeline.earlier, ...timeline.months, timeline.later].filter((month) => month !== null);
  if (months.length === 0) return null;
  const rows = months.map((month) => [
    month.month,
    groupDigits(month.matched),
    groupDigits(month.unmatched),
    groupDigits(month.other),
  ]);
  const columns = ['matched', 'unmatched', 'other'].map((title) => ({ title, ...N }));
  const window =
    timeline.window.since === null
      ? 'The backfill window is not configured; it was inferred for each company.'
      : `The backfill window starts ${formatTime(timeline.window.since)}.`;
  const undated =
    timeline.undated === 0 ? '' : ` ${countOf(timeline.undated, 'record')} without a readable date.`;
  const key = [
    ['matched', 'matched'],
    ['unmatched', 'unmatched'],
    ['other', 'deleted or ambiguous'],
  ] as const;
  const body = html`<p>V3 records by the month of their latest date. ${window}${undated}</p>
${renderKey(key)}${renderTimeline(timeline)}<details><summary>The numbers behind this picture</summary>
${htmlTable('V3 records by month.', [{ title: 'Month' }, ...columns], rows)}</details>
`;
  return { id: 'timeline', title: 'Age of the records', body };
}

export function trendSection({ trend }: Report): Section | null {
  if (trend.length < 2) return null;
  const rows = trend.map((run) => [
    formatTime(run.builtAt),
    ...STATUSES.map((one) => groupDigits(run.byStatus[one])),
  ]);
  const key = [
    ['unmatched', 'unmatched'],
    ['ambiguous', 'ambiguous'],
    ['v4_only', 'only in V4'],
  ] as const;
  const body = html`${renderKey(key)}${renderTrend(trend)}<details><summary>The numbers behind this picture</summary>
${htmlTable('Rows by status at each build of the remap.', [{ title: 'Built' }, ...STATUS_COLUMNS], rows)}</details>
`;
  return { id: 'trend', title: 'Trend', body };
}

export function limitSection({ gate }: Report): Section {
  const rows = gate.limits.map((limit) => [
    limit.model === null ? limit.name : `${limit.name} for ${limit.model}`,
    limit.actual === null
      ? 'not measured'
      : `${groupDigits(limit.actual)}${limit.unit === 'hours' ? ' h' : ''}`,
    describeAllowed(limit),
    limit.pass ? html`<span class="ok">ok</span>` : html`<span class="over">exceeded</span>`,
    limit.configured ? 'your configuration' : 'default',
  ]);
  const columns = [
    { title: 'Limit' },
    { title: 'Found', ...N },
    { title: 'Allowed', ...N },
    { title: 'Verdict' },
    { title: 'From' },
  ];
  return {
    id: 'limits',
    title: 'Limits',
    body: htmlTable('Every limit that is configured or judged a row.', columns, rows),
  };
}

export function reasonSection({ totals }: Report): Section | null {
  const rows = Object.entries(totals.byReason).map(([key, count]) => {
    const { title, meaning, action } = describeKey(key);
    return [title, html`<code>${key}</code>`, groupDigits(count), meaning, withCode(action)];
  });
  if (rows.length === 0) return null;
  const columns = [
    { title: 'Reason' },
    { title: 'Status / reason' },
    { title: 'Rows', ...N },
    { title: 'What it means' },
    { title: 'What to do' },
  ];
  return {
    id: 'reasons',
    title: 'Reasons',
    body: htmlTable('Rows that are not matched, by reason.', columns, rows),
  };
}

export function companySection(report: Report): Section | null {
  if (report.companies.length === 0) return null;
  const sorted = [...report.companies].sort((a, b) => totalFindings(b) - totalFindings(a));
  const rows = sorted
    .slice(0, COMPANIES)
    .map((company) => [
      nameOfCompany(company),
      company.matchedBy ?? '–',
      renderStatusBar(company.byStatus),
      ...statusCells(company),
    ]);
  const columns = [{ title: 'Company' }, { title: 'Paired by' }, { title: 'Statuses' }, ...STATUS_COLUMNS];
  const more = sorted.length - rows.length;
  const note = more > 0 ? html`<p>${groupDigits(more)} more companies: see the JSON report.</p>` : null;
  const first = htmlTable('Companies, most findings first.', columns, rows.slice(0, OPEN_ROWS));
  const rest = rows.slice(OPEN_ROWS);
  const others =
    rest.length === 0
      ? null
      : html`<details><summary>${groupDigits(rest.length)} more companies</summary>
${htmlTable('More companies, most findings first.', columns, rest)}</details>`;
  return { id: 'companies', title: 'Companies', body: html`${first}${others}${note}` };
}

export function fullSyncSection({ fullSync }: Report): Section | null {
  if (fullSync.length === 0) return null;
  const rows = fullSync
    .slice(0, COMPANIES)
    .map((one) => [
      `${one.v3CompanyId} in ${one.region}`,
      one.v4CompanyId ?? '–',
      one.model,
      groupDigits(one.records),
      groupDigits(one.children),
      `${one.earliest?.slice(0, 10) ?? '–'} to ${one.latest?.slice(0, 10) ?? '–'}`,
    ]);
  const columns = [
    { title: 'V3 company' },
    { title: 'V4 company' },
    { title: 'Model' },
    { title: 'Records', ...N },
    { title: 'Children', ...N },
    { title: 'Dates' },
  ];
  const more = fullSync.length - rows.length;
  const note =
    more > 0 ? html`<p>${groupDigits(more)} more rows: see fullSync in the JSON report.</p>` : null;
  const body = html`<p>These records are older than the backfill window. V4 loads them when the operator runs a full sync.</p>
${htmlTable('What to ask the operator for.', columns, rows)}${note}`;
  return { id: 'full-sync', title: 'Full sync to ask for', body };
}

export function sampleSection({ findings }: Report): Section | null {
  if (findings.samples.length === 0) return null;
  const groups = new Map<string, ReportFinding[]>();
  for (const sample of findings.samples) {
    const key = sample.reason === null ? sample.status : `${sample.status}/${sample.reason}`;
    groups.set(key, [...(groups.get(key) ?? []), sample]);
  }
  const parts = [...groups].map(
    ([key, samples]) => html`<details><summary>${nameOf(key)}</summary>
<p>${describeKey(key).meaning}</p>
${htmlTable(`Samples of ${key}.`, SAMPLE_COLUMNS, samples.map(sampleCells))}</details>
`,
  );
  const body = html`<p>${countOf(findings.total, 'finding')} in all, up to five shown of each kind. The full list: ${withCode(findings.fullList)}.</p>
${parts}`;
  return { id: 'samples', title: 'Samples', body };
}

const SAMPLE_COLUMNS = ['Model', 'platform_id', 'V3 id', 'V4 id', 'Company', 'Evidence'].map((title) => ({
  title,
}));

function sampleCells(one: ReportFinding): (string | Html)[] {
  return [
    one.path === '' ? one.model : `${one.model} › ${one.path}`,
    html`<code>${shorten(one.platform_id ?? '–')}</code>`,
    one.v3_svc_id ?? '–',
    one.v4_svc_id ?? '–',
    `${one.v3_company_id ?? '–'} → ${one.v4_company_id ?? '–'}${one.region === null ? '' : ` (${one.region})`}`,
    html`<code>${shorten(JSON.stringify(one.evidence))}</code>`,
  ];
}

const SHOWN = 300;

function shorten(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}

export function listSection({ completeness }: Report): Section {
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
  const columns = [
    { title: 'List' },
    { title: 'Region' },
    { title: 'Company' },
    { title: 'State' },
    { title: 'Ended by' },
    { title: 'Records', ...N },
    { title: 'Counted by the service', ...N },
  ];
  const complete = completeness.length - open.length;
  const table = rows.length === 0 ? null : htmlTable('Lists that are not complete.', columns, rows);
  const more =
    open.length > rows.length
      ? html`<p>${groupDigits(open.length - rows.length)} more: see the JSON report.</p>`
      : null;
  const body = html`<p>${groupDigits(complete)} of ${countOf(completeness.length, 'list')} read to the end without a doubt.</p>
${table}${more}`;
  return { id: 'lists', title: 'Lists read', body };
}

export function blindSection({ cannotSee }: Report): Section {
  const items = cannotSee.map((one) => html`<strong>${one.name}</strong>: ${withCode(one.text)}`);
  return { id: 'cannot-see', title: 'What this check cannot see', body: htmlList(items) };
}
