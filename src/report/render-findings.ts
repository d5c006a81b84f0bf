import { describeOutcome, type Status } from '../reasons.js';
import { listV4Candidates } from '../store/findings.js';
import type { RemapRow } from '../store/remap.js';
import { countOf, groupDigits } from '../text/numbers.js';
import { wrapLines } from '../text/text-layout.js';

/** The number of findings with a status and reason. */
export interface ReasonCount {
  readonly status: Status;
  readonly reason: string;
  readonly n: bigint;
}

/** Findings for a terminal, each with its meaning and company; counts by reason if not all are shown. */
export function renderFindings(
  rows: readonly RemapRow[],
  counts: readonly ReasonCount[],
  width: number,
): string {
  const total = counts.reduce((sum, { n }) => sum + Number(n), 0);
  if (total === 0) return 'No findings.\n';
  const list = rows.map((row) => wrapLines(linesOf(row), width)).join('');
  if (rows.length === total) return `${list}\n${countOf(total, 'finding')}.\n`;
  const more = `${groupDigits(rows.length)} of ${countOf(total, 'finding')} shown: narrow them with --reason, --status, --model or --company, or show all with --limit 0.`;
  return `${list}${list === '' ? '' : '\n'}${renderCounts(counts, width)}\n${wrapLines([more], width)}`;
}

function linesOf(row: RemapRow): string[] {
  const name = row.path === '' ? row.model : `${row.model} ${row.path}`;
  const id = row.v3_svc_id === null ? `V4 ${row.v4_svc_id}` : `V3 ${row.v3_svc_id}`;
  const twin = row.v3_svc_id !== null && row.v4_svc_id !== null ? ` (V4 ${row.v4_svc_id})` : '';
  const candidates = listV4Candidates(row.evidence).map(String);
  const { title, meaning } = describeOutcome(row.status, row.reason);
  return [
    `${name} ${id}${twin}: ${title}`,
    `  ${row.status}/${row.reason}: ${meaning}`,
    `  ${placeOf(row)}${candidates.length === 0 ? '' : `; V4 candidates ${candidates.join(', ')}`}`,
  ];
}

function placeOf({ region, v3_company_id: v3, v4_company_id: v4, platform_id: key }: RemapRow): string {
  const company = v3 === null ? `V4 company ${v4}` : `company ${v3} in ${region}`;
  return `${company}, platform_id ${key ?? '(none)'}`;
}

function renderCounts(counts: readonly ReasonCount[], width: number): string {
  const digits = Math.max(...counts.map(({ n }) => groupDigits(Number(n)).length));
  const lines = counts.map(({ status, reason, n }) => {
    const { title } = describeOutcome(status, reason);
    return `${groupDigits(Number(n)).padStart(digits)}  ${title} (${status}/${reason})`;
  });
  return wrapLines(['Findings by reason:', ...lines], width);
}
