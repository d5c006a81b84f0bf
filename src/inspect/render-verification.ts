import { escapeUnseen } from '../text/escape.js';
import { countOf, formatTime, groupDigits } from '../text/numbers.js';
import { renderTable } from '../text/table.js';
import { cutText, wrapLines } from '../text/wrap.js';
import { DISAGREEMENTS, type Disagreement, type FieldDifference, type Verification } from './verify.js';

/** What to do after each exit code. */
const NEXT: Readonly<Record<Verification['exitCode'], string>> = {
  0: 'svc-migrate check',
  1: 'svc-migrate run',
  4: 'svc-migrate verify',
  5: 'svc-migrate run',
};

const OUTCOMES: Readonly<Record<Verification['exitCode'], string>> = {
  0: 'All pairs that were read agree.',
  1: 'WRONG: pairs disagree with the services.',
  4: 'INCOMPLETE: some pairs could not be read.',
  5: 'NOTHING TO VERIFY: the remap has no pair.',
};

/** Lines of each table; `--json` holds more. */
const MAX_SHOWN = 10;
const MAX_CELL = 40;

export function renderVerification(result: Verification, width: number): string {
  const { remap, coverage, agree, disagree, gone, deletedSince, failed, unread, firstError } = result;
  const of = `${countOf(coverage.pairs, 'pair')} (${groupDigits(coverage.matched)} matched)`;
  const read =
    coverage.kind === 'all'
      ? `all ${of}`
      : `${groupDigits(coverage.drawn)} of ${of}, some of each model and company`;
  const lines = [
    `Remap of ${formatTime(remap.builtAt)}, sha256 ${remap.sha256.slice(0, 12)}….`,
    `Read again from V4 by id: ${read}; ${groupDigits(coverage.readInV3)} of them from V3, too.`,
    `  ${groupDigits(agree)} agree, ${groupDigits(disagree)} disagree.`,
    ...(deletedSince > 0 ? [`  ${groupDigits(deletedSince)} were deleted in V4 since the export.`] : []),
    ...(gone > 0 ? [`  ${groupDigits(gone)} were deleted in V4 and are no longer shown.`] : []),
    ...(failed + unread > 0
      ? [
          `  ${groupDigits(failed)} could not be read, ${groupDigits(unread)} were not requested after that. First error: ${firstError ?? ''}`,
        ]
      : []),
  ];
  const end = [OUTCOMES[result.exitCode], `Next: ${NEXT[result.exitCode]}`];
  return [
    wrapLines(lines, width),
    ...renderDisagreements(result.disagreements, width),
    ...renderDifferences(result.differences, width),
    wrapLines(end, width),
  ].join('');
}

function renderDisagreements(disagreements: readonly Disagreement[], width: number): string[] {
  if (disagreements.length === 0) return [];
  const rows = disagreements
    .slice(0, MAX_SHOWN)
    .map((row) => [
      row.path === '' ? row.model : `${row.model} ${row.path}`,
      row.v3_svc_id ?? '–',
      row.v4_svc_id ?? '–',
      cell(row.v3?.platform_id ?? row.platform_id),
      cell(row.v4?.platform_id ?? null),
      DISAGREEMENTS[row.code],
    ]);
  const columns = [
    { title: 'disagree' },
    { title: 'V3 id', keep: true },
    { title: 'V4 id', keep: true },
    { title: 'V3 key' },
    { title: 'V4 key' },
    { title: 'why', keep: true },
  ];
  return renderTable(columns, rows, width).map((line) => `${line}\n`);
}

function renderDifferences(differences: readonly FieldDifference[], width: number): string[] {
  if (differences.length === 0) return [];
  const rows = differences
    .slice(0, MAX_SHOWN)
    .map(({ model, path, field, pairs, example }) => [
      path === '' ? model : `${model} ${path}`,
      cell(field),
      groupDigits(pairs),
      `${cell(example.v3)} → ${cell(example.v4)} (V3 ${example.v3_svc_id})`,
    ]);
  const columns = [
    { title: 'fields that differ' },
    { title: 'field', keep: true },
    { title: 'pairs', numeric: true, keep: true },
    { title: 'such as' },
  ];
  return renderTable(columns, rows, width).map((line) => `${line}\n`);
}

function cell(text: string | null): string {
  return text === null ? '–' : escapeUnseen(cutText(text, MAX_CELL));
}
