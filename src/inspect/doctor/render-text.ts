import { escapeUnseen } from '../../text/escape.js';
import { displayWidth, wrapText } from '../../text/text-layout.js';
import { type Finding, judgeFindings, problemsOf, sortFindings } from './finding.js';

const LABELS: Readonly<Record<Finding['level'], string>> = {
  ok: 'ok',
  note: 'note',
  warning: 'WARN',
  problem: 'FIX',
};
const INDENT = 8;

/** What was found, by area, and at the end what to do. */
export function renderDoctor(findings: readonly Finding[], next: string, width: number): string {
  const sorted = sortFindings(findings);
  const lines: string[] = [];
  let area = '';
  for (const finding of sorted) {
    if (finding.area !== area) {
      area = finding.area;
      lines.push(area);
    }
    lines.push(...renderFinding(finding, width));
  }
  lines.push('', ...renderOutcome(sorted, next, width));
  return lines.map((line) => `${line}\n`).join('');
}

/** A problem's fix comes at the end, all in one list. */
function renderFinding({ level, text, fix }: Finding, width: number): string[] {
  const advice = level === 'problem' || fix === undefined ? [] : layOut(' ', `→ ${fix}`, width);
  return [...layOut(LABELS[level], text, width), ...advice];
}

/** Text beside a label, wrapped under itself. */
function layOut(label: string, text: string, width: number): string[] {
  const lines = text
    .split('\n')
    .flatMap((line) => wrapText(escapeUnseen(line.trim()), width, ' '.repeat(INDENT)));
  const [first = '', ...others] = lines;
  const head = `  ${label}`;
  return [head + ' '.repeat(INDENT - displayWidth(head)) + first.slice(INDENT), ...others];
}

function renderOutcome(findings: readonly Finding[], next: string, width: number): string[] {
  const problems = problemsOf(findings);
  const warnings = findings.filter(({ level }) => level === 'warning').length;
  if (judgeFindings(findings) === 0) {
    const but = warnings === 0 ? '' : ` (${warnings} ${warnings === 1 ? 'warning' : 'warnings'} above)`;
    return [`Ready${but}. Next: ${next}`];
  }
  return [
    'Not ready. To fix:',
    ...problems.flatMap(({ text, fix = '' }, at) => [
      ...layOut(`${at + 1}.`, text, width),
      ...layOut(' ', `→ ${fix}`, width),
    ]),
  ];
}
