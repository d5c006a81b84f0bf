import type { RemapRow } from '../store/remap-rows.js';
import { escapeMarkdown } from '../text/escape.js';
import { countOf, groupDigits } from '../text/numbers.js';
import { isEmpty, streamJson } from '../text/rows.js';
import { countFullSync } from './describe.js';
import { renderHtml } from './render-html.js';
import { renderJunit } from './render-junit.js';
import { renderMarkdown } from './render-markdown.js';
import { renderNdjson } from './render-rows.js';
import type { FullSync, Report } from './report-schema.js';

/** The input of renderers; `findings` reads them again at each call. */
export interface RenderSource {
  readonly report: Report;
  readonly findings: () => Iterable<RemapRow>;
}

/** The formats for files, by their option in camel case. */
export const RENDERERS = {
  json: ({ report }: RenderSource) => streamJson(report),
  ndjson: ({ findings }: RenderSource) => renderNdjson(findings()),
  markdown: ({ report }: RenderSource) => renderMarkdown(report),
  html: ({ report }: RenderSource) => renderHtml(report),
  junit: ({ report }: RenderSource) => renderJunit(report),
  fullSync: ({ report }: RenderSource) => renderFullSync(report),
} as const satisfies Record<string, (source: RenderSource) => Iterable<string>>;

export type OutputFlag = keyof typeof RENDERERS;

const COLUMNS = [
  { title: 'V3 company', cell: (row: FullSync) => row.v3CompanyId },
  { title: 'Region', cell: (row: FullSync) => row.region },
  { title: 'V4 company', cell: (row: FullSync) => row.v4CompanyId ?? '–' },
  { title: 'Model', cell: (row: FullSync) => row.model },
  { title: 'Records', cell: (row: FullSync) => groupDigits(row.records), right: true },
  { title: 'Children', cell: (row: FullSync) => groupDigits(row.children), right: true },
  { title: 'From', cell: (row: FullSync) => row.earliest?.slice(0, 10) ?? '–' },
  { title: 'To', cell: (row: FullSync) => row.latest?.slice(0, 10) ?? '–' },
  { title: 'V4 request_id', cell: (row: FullSync) => row.requestId ?? '–' },
];

/** A letter to the operator with all records that V4 did not load, by company and model. */
export function* renderFullSync({ fullSync, timeline, outcome }: Report): Generator<string> {
  yield `# Full sync request\n\n${opening(fullSync, timeline.window.since)}`;
  if (outcome === 'incomplete') yield '\n\nThe lists were not all read to their end: there may be more.';
  if (!isEmpty(fullSync)) {
    yield `\n\n${tableLine(COLUMNS.map(({ title }) => title))}`;
    yield `\n${tableLine(COLUMNS.map(({ right }) => (right ? '---:' : '---')))}`;
    for (const row of fullSync) yield `\n${tableLine(COLUMNS.map(({ cell }) => escapeMarkdown(cell(row))))}`;
  }
  yield '\n';
}

function tableLine(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function opening(rows: Iterable<FullSync>, since: string | null): string {
  const { companies: ofCompanies, records: count } = countFullSync(rows);
  if (ofCompanies === 0) return "There is nothing to ask for: no record is older than V4's history.";
  const companies = countOf(ofCompanies, 'company', 'companies');
  const window = since === null ? "V4's history" : `V4's history, which begins at ${since}`;
  const verb = count === 1 ? 'is' : 'are';
  return `${countOf(count, 'record')} of ${companies} ${verb} older than ${window}, so V4 did not load ${count === 1 ? 'it' : 'them'}. Please run a full sync for:`;
}
