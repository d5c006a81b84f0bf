import { csvCell, csvCellForPeople, escapeMarkdown } from '../text/escape.js';
import { countOf, groupDigits } from '../text/numbers.js';
import type { Report } from './report-schema.js';

type Row = Report['fullSync'][number];

const COLUMNS = [
  { title: 'V3 company', cell: (row: Row) => row.v3CompanyId },
  { title: 'Region', cell: (row: Row) => row.region },
  { title: 'V4 company', cell: (row: Row) => row.v4CompanyId ?? '–' },
  { title: 'Model', cell: (row: Row) => row.model },
  { title: 'Records', cell: (row: Row) => groupDigits(row.records), right: true },
  { title: 'Children', cell: (row: Row) => groupDigits(row.children), right: true },
  { title: 'From', cell: (row: Row) => row.earliest?.slice(0, 10) ?? '–' },
  { title: 'To', cell: (row: Row) => row.latest?.slice(0, 10) ?? '–' },
  { title: 'V4 request_id', cell: (row: Row) => row.requestId ?? '–' },
];

/** A letter to the operator with all records that V4 did not load, by company and model. */
export function renderFullSync({ fullSync, timeline, outcome }: Report): Iterable<string> {
  const blocks = ['# Full sync request', opening(fullSync, timeline.window.since)];
  if (outcome === 'incomplete') blocks.push('The lists were not all read to their end: there may be more.');
  if (fullSync.length > 0) {
    const lines = [
      COLUMNS.map(({ title }) => title),
      COLUMNS.map(({ right }) => (right ? '---:' : '---')),
      ...fullSync.map((row) => COLUMNS.map(({ cell }) => escapeMarkdown(cell(row)))),
    ];
    blocks.push(lines.map((line) => `| ${line.join(' | ')} |`).join('\n'));
  }
  return [`${blocks.join('\n\n')}\n`];
}

function opening(rows: readonly Row[], since: string | null): string {
  if (rows.length === 0) return 'There is nothing to ask for: no record is outside the backfill window.';
  const names = new Set(rows.map((row) => `${row.v3CompanyId} ${row.region}`));
  const companies = countOf(names.size, 'company', 'companies');
  const window = since === null ? 'the backfill window' : `the backfill window, which begins at ${since}`;
  const count = rows.reduce((sum, row) => sum + row.records, 0);
  const verb = count === 1 ? 'is' : 'are';
  return `${countOf(count, 'record')} of ${companies} ${verb} older than ${window}, so V4 did not load ${count === 1 ? 'it' : 'them'}. Please run a full sync for:`;
}

/** The rows of `renderFullSync` as CSV with a header and exact dates. */
export function* renderFullSyncCsv({ fullSync }: Report): Generator<string> {
  yield 'v3_company_id,region,v4_company_id,model,records,children,earliest,latest,request_id\r\n';
  for (const row of fullSync) {
    const cells = [
      csvCell(row.v3CompanyId),
      csvCellForPeople(row.region),
      csvCell(row.v4CompanyId ?? ''),
      csvCellForPeople(row.model),
      String(row.records),
      String(row.children),
      row.earliest ?? '',
      row.latest ?? '',
      csvCellForPeople(row.requestId ?? ''),
    ];
    yield `${cells.join(',')}\r\n`;
  }
}
