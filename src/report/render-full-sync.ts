import { csvCell, csvCellForPeople, escapeMarkdown } from '../text/escape.js';
import { countOf, groupDigits } from '../text/numbers.js';
import type { Report } from './schema.js';

type Row = Report['fullSync'][number];

/** A letter to the operator: the records that V4 did not load, by company and model. Nothing is left out. */
export function renderFullSync({ fullSync, timeline, outcome }: Report): Iterable<string> {
  const blocks = ['# Full sync request', opening(fullSync, timeline.window.since)];
  if (outcome === 'incomplete') blocks.push('The lists were not all read to their end: there may be more.');
  if (fullSync.length > 0) blocks.push(table(fullSync));
  return [`${blocks.join('\n\n')}\n`];
}

function opening(rows: readonly Row[], since: string | null): string {
  if (rows.length === 0) return 'There is nothing to ask for: no record is outside the backfill window.';
  const companies = countOf(
    new Set(rows.map((row) => `${row.v3CompanyId} ${row.region}`)).size,
    'company',
    'companies',
  );
  const window = since === null ? 'the backfill window' : `the backfill window, which begins at ${since}`;
  const records = countOf(
    rows.reduce((sum, row) => sum + row.records, 0),
    'record',
  );
  return `${records} of ${companies} are older than ${window}, so V4 did not load them. Please run a full sync for:`;
}

const HEAD = [
  'V3 company',
  'Region',
  'V4 company',
  'Model',
  'Records',
  'Children',
  'From',
  'To',
  'V4 request_id',
];
const RIGHT = new Set(['Records', 'Children']);

function table(rows: readonly Row[]): string {
  const lines = rows.map((row) => [
    row.v3CompanyId,
    row.region,
    row.v4CompanyId ?? '–',
    row.model,
    groupDigits(row.records),
    groupDigits(row.children),
    row.earliest?.slice(0, 10) ?? '–',
    row.latest?.slice(0, 10) ?? '–',
    row.requestId ?? '–',
  ]);
  return [
    HEAD,
    HEAD.map((title) => (RIGHT.has(title) ? '---:' : '---')),
    ...lines.map((line) => line.map(escapeMarkdown)),
  ]
    .map((line) => `| ${line.join(' | ')} |`)
    .join('\n');
}

/** The same as CSV with a header; dates are exact. */
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
