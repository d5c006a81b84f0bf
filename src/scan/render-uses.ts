import { escapeUnseen, shellLine } from '../text/escape.js';
import { countOf } from '../text/numbers.js';
import { fitText, wrapLines } from '../text/text-layout.js';
import { countSkipped, describeTraffic, describeUses, SCAN_LIMITS } from './describe-uses.js';
import { describeFix } from './fix/describe-fix.js';
import { type CodePlace, groupPlaces } from './places.js';
import { RULES } from './rules/rules.js';
import type { ScanReport } from './scan-report.js';

/** The findings by rule, then file, each with its line; `paths`: what was named to be scanned. At the end: what was read, the verdict and the next step. */
export function renderUses(report: ScanReport, width: number, paths: readonly string[] = []): string {
  const places = groupPlaces(report.findings);
  const blocks = RULES.flatMap(({ id, title, message, v4 }) => {
    const found = places.filter(({ findings }) => findings[0]?.rule === id);
    if (found.length === 0) return [];
    const head = wrapLines(
      [`${title} (${id}): ${countOf(found.length, 'place')}`, `  ${message}`, `  V4: ${v4}`],
      width,
    );
    return [`${head}${found.map((one) => renderPlace(one, width)).join('')}\n`];
  });
  const seen = describeTraffic(report).map((line, at) => (at === 0 ? line : `  ${line}`));
  const traffic = seen.length === 0 ? '' : `${wrapLines(seen, width)}\n`;
  return `${blocks.join('')}${traffic}${wrapLines(closingLines(report), width)}Next: ${nextOf(report, paths)}\n`;
}

/** Where it is and its line, then what else has to change there. */
function renderPlace({ file, line, certainty, text, findings }: CodePlace, width: number): string {
  const more = findings.slice(1).map(({ rule, v4 }) => `also ${rule}: ${v4}`);
  const lines = [text, ...more].map((one) => `      ${fitText(escapeUnseen(one), Math.max(20, width - 6))}`);
  return `${[`  ${escapeUnseen(file)}:${line}  ${certainty}`, ...lines].join('\n')}\n`;
}

function closingLines(report: ScanReport): string[] {
  const { summary, ignored } = report;
  const languages = Object.entries(summary.filesByLanguage).map(([name, count]) => `${name} ${count}`);
  const skipped = countSkipped(report).map(([why, count]) => `${why} ${count}`);
  return [
    `Read: ${languages.length === 0 ? 'nothing' : languages.join(', ')}.`,
    ...(skipped.length === 0 ? [] : [`Not read: ${skipped.join(', ')}. --json names them.`]),
    ...(ignored.length === 0 ? [] : [`Ignored by comments: ${countOf(ignored.length, 'finding')}.`]),
    ...(report.fix === null ? [] : describeFix(report.fix)),
    SCAN_LIMITS,
    describeUses(report),
  ];
}

function nextOf({ findings, hosts, summary }: ScanReport, paths: readonly string[]): string {
  if (summary.filesRead === 0) return 'svc-migrate scan --help';
  if (hosts.length === 0) return 'svc-migrate init';
  if (findings.length === 0) return 'svc-migrate check';
  return shellLine(['svc-migrate', 'scan', ...paths, '--json', 'scan.json']);
}
