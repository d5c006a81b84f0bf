import { escapeUnseen } from '../text/escape.js';
import { countOf, formatTime, groupDigits } from '../text/numbers.js';
import { type Column, renderTable } from '../text/table.js';
import { cutText, wrapLines } from '../text/wrap.js';
import { DISAGREEMENTS, type Verification } from './verify.js';

const ENDS: Readonly<Record<Verification['exitCode'], readonly [verdict: string, next: string]>> = {
  0: ['All pairs that were read agree.', 'svc-migrate check'],
  1: ['WRONG: pairs disagree with the services.', 'svc-migrate run'],
  4: ['INCOMPLETE: some pairs could not be read.', 'svc-migrate verify'],
  5: ['NOTHING TO VERIFY: the remap has no pair.', 'svc-migrate run'],
};

const MAX_SHOWN = 10;
const MAX_CELL = 40;

export function renderVerification(result: Verification, width: number): string {
  const { remap, coverage, agree, disagree, gone, failed, firstError } = result;
  const { pairs, matched, drawn, readInV3 } = coverage;
  const lines = [
    `Remap of ${formatTime(remap.builtAt)}, sha256 ${remap.sha256.slice(0, 12)}….`,
    `Read again: ${groupDigits(drawn)} of ${countOf(pairs, 'pair')} (${groupDigits(matched)} matched) from V4 by id, ${groupDigits(readInV3)} of them from V3, too.`,
    `  ${groupDigits(agree)} agree, ${groupDigits(disagree)} disagree.`,
    ...(gone > 0 ? [`  ${groupDigits(gone)} were deleted in V4 and are no longer shown.`] : []),
    ...(failed > 0 ? [`  ${groupDigits(failed)} could not be read: ${firstError ?? ''}`] : []),
  ];
  const [verdict, next] = ENDS[result.exitCode];
  return (
    wrapLines(lines, width) +
    renderRows(DISAGREEMENT_COLUMNS, disagreementRows(result), width) +
    renderRows(DIFFERENCE_COLUMNS, differenceRows(result), width) +
    wrapLines([verdict, `Next: ${next}`], width)
  );
}

function renderRows(columns: readonly Column[], rows: readonly string[][], width: number): string {
  if (rows.length === 0) return '';
  return `${renderTable(columns, rows.slice(0, MAX_SHOWN), width).join('\n')}\n`;
}

const DISAGREEMENT_COLUMNS: readonly Column[] = [
  { title: 'disagree' },
  { title: 'V3 id', keep: true },
  { title: 'V4 id', keep: true },
  { title: 'V3 key' },
  { title: 'V4 key' },
  { title: 'why', keep: true },
];

function disagreementRows({ disagreements }: Verification): string[][] {
  return disagreements.map((row) => [
    row.path === '' ? row.model : `${row.model} ${row.path}`,
    row.v3_svc_id ?? '–',
    row.v4_svc_id ?? '–',
    cell(row.v3?.platform_id ?? row.platform_id),
    cell(row.v4?.platform_id ?? null),
    DISAGREEMENTS[row.code],
  ]);
}

const DIFFERENCE_COLUMNS: readonly Column[] = [
  { title: 'fields that differ' },
  { title: 'field', keep: true },
  { title: 'pairs', numeric: true, keep: true },
  { title: 'such as' },
];

function differenceRows({ differences }: Verification): string[][] {
  return differences.map(({ model, path, field, pairs, example }) => [
    path === '' ? model : `${model} ${path}`,
    cell(field),
    groupDigits(pairs),
    `${cell(example.v3)} → ${cell(example.v4)} (V3 ${example.v3_svc_id})`,
  ]);
}

function cell(text: string | null): string {
  return text === null ? '–' : escapeUnseen(cutText(text, MAX_CELL));
}
