import { STATUSES } from '../reasons.js';
import { countOf, formatTime, groupDigits } from '../text/numbers.js';
import type { CutoverVerdict } from './build-verdict.js';
import { describeCode, describeDecisions, nameOfRange } from './describe.js';
import { renderObstacles, renderSamples } from './html-findings.js';
import {
  type Html,
  html,
  htmlTable,
  renderKey,
  renderStatusBar,
  renderTimeline,
  withCode,
  withWordBreaks,
} from './html-parts.js';
import { groupIncomplete } from './incomplete-lists.js';
import type { Counts, Report } from './report-schema.js';
import {
  companyTable,
  limitTable,
  modelTable,
  numeric,
  type ReportColumn,
  reasonTable,
  STATUS_NAMES,
  unordered,
} from './tables.js';

/** A part of the page with its own heading. */
export interface Section {
  readonly id: string;
  readonly title: string;
  /** Null if there is nothing to show. */
  readonly body: Html | null;
}

/** Rows shown at most; the JSON report has all. */
const MAX_COMPANIES = 500;
const MAX_FULL_SYNCS = 500;
const MAX_DECISIONS = 100;
const MAX_LISTS = 300;
/** Rows of a folded table that are shown at once. */
const OPEN_ROWS = 20;

const STATUS_KEY = STATUSES.map((status) => [status, STATUS_NAMES[status]] as const);

/** The sections that have something to show, in order. */
export function listSections(report: Report, verdict: CutoverVerdict): readonly Section[] {
  const all: readonly Section[] = [
    { id: 'obstacles', title: 'What stands in the way', body: renderObstacles(verdict, report) },
    { id: 'models', title: 'Models', body: renderModels(report) },
    { id: 'timeline', title: 'Age of the records', body: renderAges(report) },
    { id: 'limits', title: 'Limits', body: renderLimits(report) },
    { id: 'reasons', title: 'Reasons', body: renderReasons(report) },
    { id: 'companies', title: 'Companies', body: renderCompanies(report) },
    { id: 'full-sync', title: 'Full sync to ask for', body: renderFullSyncRows(report) },
    { id: 'decisions', title: 'Decisions', body: renderDecisions(report) },
    { id: 'code', title: 'Uses of V3 in code', body: renderCode(report) },
    { id: 'samples', title: 'Samples', body: renderSamples(report) },
    { id: 'lists', title: 'Lists read', body: renderLists(report) },
    { id: 'cannot-see', title: 'What this check cannot see', body: renderLimitations(report) },
  ];
  return all.filter(({ body }) => body !== null);
}

/** Inserts a bar of the statuses into a table, at column `at`. */
function withBars(
  columns: readonly { title: string }[],
  rows: readonly (readonly (string | Html)[])[],
  counts: readonly Counts[],
  at: number,
) {
  return {
    columns: columns.toSpliced(at, 0, unordered('Statuses')),
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
${renderKey(key)}${renderTimeline(timeline)}<details><summary>The numbers in this chart</summary>
${htmlTable('V3 records by month.', columns, rows)}</details>
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
    html`<code class="key-name">${withWordBreaks(key)}</code>`,
    count,
    meaning,
    withCode(action),
  ]);
  return htmlTable('Rows that are not matched, by reason.', columns, cells);
}

function renderCompanies(report: Report): Html | null {
  const plain = companyTable(report, MAX_COMPANIES);
  if (plain.total === 0) return null;
  const { columns, rows } = withBars(plain.columns, plain.rows, plain.counts, 2);
  const more = plain.total - rows.length;
  const name = countOf(more, 'more company', 'more companies');
  const note = more > 0 ? html`<p>${name}: see the JSON report.</p>` : null;
  return html`${foldedTable('Companies, most findings first.', columns, rows)}${note}`;
}

/** A table whose rows after the first are folded where there are many. */
function foldedTable(
  caption: string,
  columns: readonly ReportColumn[],
  rows: readonly (readonly (string | Html)[])[],
): Html {
  const first = htmlTable(caption, columns, rows.slice(0, OPEN_ROWS));
  const rest = rows.slice(OPEN_ROWS);
  if (rest.length === 0) return first;
  return html`${first}<details><summary>${countOf(rest.length, 'more row')}</summary>
${htmlTable(`Continued: ${caption}`, columns, rest)}</details>`;
}

/** The rows of the first `most` groups, and the number of the other groups. */
function firstGroups<Row>(rows: Iterable<Row>, nameOf: (row: Row) => string, most: number) {
  const first = new Map<string, Row[]>();
  const others = new Set<string>();
  for (const row of rows) {
    const name = nameOf(row);
    const own = first.get(name);
    if (own !== undefined) own.push(row);
    else if (first.size < most) first.set(name, [row]);
    else others.add(name);
  }
  return { first, others: others.size };
}

/** One row for each company; its models are folded where there are several. */
function renderFullSyncRows({ fullSync }: Report): Html | null {
  const { first, others } = firstGroups(
    fullSync,
    (one) => `${one.v3CompanyId} in ${one.region}`,
    MAX_FULL_SYNCS,
  );
  if (first.size === 0) return null;
  const rows = [...first].map(([name, own]) => {
    const sum = (count: 'records' | 'children') => groupDigits(own.reduce((all, one) => all + one[count], 0));
    const times = own
      .flatMap(({ earliest, latest }) => [earliest, latest])
      .filter((time) => time !== null)
      .sort();
    const range = { earliest: times[0] ?? null, latest: times.at(-1) ?? null };
    const models = own.map(
      (one) => html`<li>${one.model} ${groupDigits(one.records)}, ${nameOfRange(one)}</li>`,
    );
    const list =
      own.length === 1
        ? (own[0]?.model ?? '')
        : html`<details><summary>${countOf(own.length, 'model')}</summary><ul>${models}</ul></details>`;
    return [name, own[0]?.v4CompanyId ?? '–', list, sum('records'), sum('children'), nameOfRange(range)];
  });
  const titles = ['V3 company', 'V4 company'].map((title) => ({ title }));
  const columns = [
    ...titles,
    unordered('Models'),
    numeric('Records'),
    numeric('Children'),
    { title: 'Dates' },
  ];
  const name = countOf(others, 'more company', 'more companies');
  const note = others > 0 ? html`<p>${name}: see the letter.</p>` : null;
  const letter = '`svc-migrate report --full-sync request.md` writes the letter.';
  return html`<p>These records are older than the backfill window. V4 loads them when the operator runs a full sync. ${withCode(letter)}</p>
${foldedTable('What to ask the operator for, by company.', columns, rows)}${note}`;
}

function renderDecisions({ decisions }: Report): Html | null {
  if (decisions === null) return null;
  const [head = ''] = describeDecisions(decisions, 0);
  const rows = decisions.idle
    .slice(0, MAX_DECISIONS)
    .map((one) => [
      String(one.line),
      one.path === '' ? one.model : `${one.model} ${one.path}`,
      one.v3_svc_id ?? 'none',
      one.v4_svc_id ?? 'none',
      one.text,
      one.note,
    ]);
  const titles = ['Line', 'Model', 'V3 id', 'V4 id', 'What became of it'];
  const columns = [...titles.map((title) => ({ title })), unordered('Note')];
  const table = rows.length === 0 ? null : htmlTable('Decisions that changed nothing.', columns, rows);
  return html`<p>${head}</p>${table}`;
}

function renderCode({ codeUses: code }: Report): Html | null {
  if (code === null) return null;
  const [head = ''] = describeCode(code);
  const rows = code.rules.map((one) => [one.title, ...[one.certain, one.likely, one.look].map(groupDigits)]);
  const columns = [{ title: 'What' }, numeric('Certain'), numeric('Likely'), numeric('To look at')];
  const table = rows.length === 0 ? null : htmlTable('Findings by rule.', columns, rows);
  return html`<p>${head}</p>${table}`;
}

/** Lists that are not complete; those that ended in the same way are one row. */
function renderLists({ completeness }: Report): Html {
  const { groups, complete, all } = groupIncomplete(completeness);
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
  const titles = ['List', 'Region', 'Company', 'State', 'Ended by'].map((title) => ({ title }));
  const columns = [...titles, numeric('Records'), numeric('Counted by the service')];
  const table = rows.length === 0 ? null : foldedTable('Lists that are not complete.', columns, rows);
  const more = groups.length - rows.length;
  return html`<p>${groupDigits(complete)} of ${countOf(all, 'list')} read completely.</p>
${table}${more > 0 ? html`<p>${groupDigits(more)} more: see the JSON report.</p>` : null}`;
}

function renderLimitations({ cannotSee }: Report): Html {
  const items = cannotSee.map((one) => html`<li><strong>${one.name}</strong>: ${withCode(one.text)}</li>\n`);
  return html`<ul>
${items}</ul>
`;
}
