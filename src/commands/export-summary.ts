import type { Config } from '../config/config.js';
import type { Generation } from '../domain.js';
import type { ExportSummary } from '../export/run-export.js';
import type { StreamRow } from '../store/streams.js';
import { escapeUnseen } from '../text/escape.js';
import { countOf, groupDigits } from '../text/numbers.js';
import { type Column, layOutTable, wrapText } from '../text/text-layout.js';

const COLUMNS: readonly Column[] = [
  { title: 'model', align: 'left' },
  { title: 'lists', align: 'right' },
  { title: 'pages', align: 'right' },
  { title: 'records', align: 'right', keep: true },
  { title: 'repeated', align: 'right' },
  { title: 'rejected', align: 'right' },
  { title: 'state', align: 'left', keep: true },
];

/** Summary of one generation in the database after an export, with warnings and the next command. */
export function renderExportSummary(
  generation: Generation,
  summary: ExportSummary,
  config: Config,
  width: number,
): string {
  const name = generation.toUpperCase();
  const rows = config.models.flatMap(({ v3 }) => {
    const own = summary.streams.filter(({ model }) => model === v3);
    return own.length === 0 ? [] : [rowOf(v3, own)];
  });
  if (rows.length > 1) rows.push(rowOf('total', summary.streams));
  const total = countOf(sum(summary.streams, 'uniqueRecords'), 'record');
  const missing = summary.complete
    ? ''
    : ' (not everything yet; the next export continues where this one stopped)';
  const lines = [
    ...wrapText(escapeUnseen(`${name}: ${total} in ${config.database}${missing}`), width),
    '',
    ...layOutTable(COLUMNS, rows, width),
    '',
    ...listWarnings(generation, summary).flatMap((text) => wrapText(`Warning: ${text}`, width)),
    `Next: ${nextCommand(generation, summary.complete)}`,
  ];
  return `${lines.join('\n')}\n`;
}

function rowOf(name: string, streams: readonly StreamRow[]): string[] {
  const numbers = [
    streams.length,
    sum(streams, 'pages'),
    sum(streams, 'uniqueRecords'),
    sum(streams, 'duplicates'),
    sum(streams, 'rejected'),
  ];
  return [name, ...numbers.map(groupDigits), describeStates(streams)];
}

type CountName = 'pages' | 'uniqueRecords' | 'duplicates' | 'rejected';

function sum(streams: readonly StreamRow[], name: CountName): number {
  return streams.reduce((total, stream) => total + stream[name], 0);
}

/** `complete`, or the number of lists in each state. */
function describeStates(streams: readonly StreamRow[]): string {
  const counts = new Map<string, number>();
  for (const { state } of streams) counts.set(state, (counts.get(state) ?? 0) + 1);
  const [only] = counts.keys();
  if (counts.size === 1 && only !== undefined) return only;
  return [...counts].map(([state, count]) => `${groupDigits(count)} ${state}`).join(', ');
}

function listWarnings(generation: Generation, { streams }: ExportSummary): string[] {
  const warnings: string[] = [];
  const absent = streams.filter(({ state }) => state === 'absent');
  if (generation === 'v3' && absent.length > 0) {
    const names = absent.map(({ model, region }) => `${model} (${region})`).join(', ');
    warnings.push(`V3 has no ${names}: answered 404. Check the models in the configuration.`);
  }
  const short = streams.filter(({ state }) => state === 'short').length;
  if (short > 0) {
    const lists = countOf(short, 'list was', 'lists were');
    warnings.push(`${lists} read in full twice, with fewer records than total_count says.`);
  }
  const rejected = sum(streams, 'rejected');
  if (rejected > 0) {
    warnings.push(
      `${countOf(rejected, 'object')} could not be read as a record; see the table rejected in the database.`,
    );
  }
  return warnings;
}

function nextCommand(generation: Generation, complete: boolean): string {
  if (!complete) return `svc-migrate export ${generation}`;
  return generation === 'v3' ? 'svc-migrate export v4' : 'svc-migrate remap';
}
