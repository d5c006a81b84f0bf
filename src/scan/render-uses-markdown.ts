import { escapeMarkdown } from '../text/escape.js';
import { countSkipped, describeTraffic, describeUses, SCAN_LIMITS } from './describe-uses.js';
import { groupPlaces } from './places.js';
import { RULES } from './rules/rules.js';
import type { ScanReport } from './scan-report.js';

/** Most places that are listed, so that a comment on a pull request holds them (65,536 characters). */
const MAX_ROWS = 150;
const MAX_CELL = 200;

/** The findings for a job summary or a pull request. */
export function renderUsesMarkdown(report: ScanReport): string {
  const titles = new Map(RULES.map(({ id, title }) => [id, title]));
  const places = groupPlaces(report.findings);
  const rows = RULES.flatMap(({ id }) =>
    places
      .filter(({ findings }) => findings[0]?.rule === id)
      .map(({ file, line, certainty, findings }) => [
        findings.map(({ rule }) => titles.get(rule) ?? rule).join(', '),
        `${file}:${line}`,
        certainty,
        [...new Set(findings.map(({ v4 }) => v4))].join('; '),
      ]),
  );
  const shown = rows
    .slice(0, MAX_ROWS)
    .map((cells) => `| ${cells.map((cell) => escapeMarkdown(cell.slice(0, MAX_CELL))).join(' | ')} |`);
  const left = rows.length - shown.length;
  const skipped = countSkipped(report).map(([why, count]) => `${escapeMarkdown(why)} ${count}`);
  return [
    `## ${report.outcome === 'pass' ? '✅' : '❌'} Uses of the V3 API in code`,
    escapeMarkdown(describeUses(report)),
    ...(shown.length === 0
      ? []
      : [['| What | Where | Certainty | V4 |', '| --- | --- | --- | --- |', ...shown].join('\n')]),
    ...(left > 0 ? [`${left} more are in the JSON.`] : []),
    ...(skipped.length === 0 ? [] : [`Not read: ${skipped.join(', ')}.`]),
    ...describeTraffic(report).map((line, at) => `${at === 0 ? '' : '- '}${escapeMarkdown(line)}`),
    SCAN_LIMITS,
  ]
    .join('\n\n')
    .concat('\n');
}
