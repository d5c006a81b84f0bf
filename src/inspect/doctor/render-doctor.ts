import { escapeUnseen, renderJson } from '../../text/escape.js';
import { countOf } from '../../text/numbers.js';
import { clipText, displayWidth, wrapText } from '../../text/text-layout.js';
import { type Finding, judgeFindings, sortFindings } from './doctor-finding.js';
import { estimateDisk } from './judge-local.js';
import type { DoctorFacts } from './probe-results.js';

const LABELS: Readonly<Record<Finding['level'], string>> = {
  ok: 'ok',
  note: 'note',
  warning: 'WARN',
  problem: 'FIX',
};
const INDENT = 8;

/** The findings by area, then the problems to fix. */
export function renderDoctor(findings: readonly Finding[], next: string, width: number): string {
  const sorted = sortFindings(findings);
  const lines: string[] = [];
  for (const [at, { area, level, text, fix }] of sorted.entries()) {
    if (area !== sorted[at - 1]?.area) lines.push(area);
    lines.push(...layOut(LABELS[level], text, width));
    // The fixes of problems are listed together at the end.
    if (level !== 'problem' && fix !== undefined) lines.push(...layOut(' ', `→ ${fix}`, width));
  }
  const problems = sorted.filter(({ level }) => level === 'problem');
  const warnings = sorted.filter(({ level }) => level === 'warning').length;
  if (problems.length === 0) {
    const but = warnings === 0 ? '' : ` (${countOf(warnings, 'warning')} above)`;
    lines.push('', `Ready${but}.`);
  } else {
    lines.push('', 'To fix:');
  }
  for (const [at, { text, fix = '' }] of problems.entries()) {
    lines.push(...layOut(`${at + 1}.`, text, width), ...layOut(' ', `→ ${fix}`, width));
  }
  const [first] = problems;
  if (first !== undefined) {
    lines.push('', `Not ready: ${countOf(problems.length, 'problem')}.`);
    lines.push(clipText(`Biggest blocker: ${escapeUnseen(first.text)}`, width));
  }
  lines.push(`Next: ${escapeUnseen(next)}`);
  return lines.map((line) => `${line}\n`).join('');
}

/** Lays out text beside a label, with a hanging indent. */
function layOut(label: string, text: string, width: number): string[] {
  const lines = text
    .split('\n')
    .flatMap((line) => wrapText(escapeUnseen(line.trim()), width, ' '.repeat(INDENT)));
  const [first = '', ...others] = lines;
  const head = `  ${label}`;
  return [head + ' '.repeat(INDENT - displayWidth(head)) + first.slice(INDENT), ...others];
}

/** The findings for programs, with the facts behind them; ids are digits in text. */
export function renderDoctorJson(findings: readonly Finding[], facts: DoctorFacts | null): string {
  const exit = judgeFindings(findings);
  return renderJson({
    schemaVersion: 1,
    ready: exit === 0,
    exitCode: exit,
    findings: sortFindings(findings).map(({ level, area, code, text, fix, exitCode }) => {
      return { level, area, code, text, fix: fix ?? null, exitCode: exitCode ?? null };
    }),
    facts: facts === null ? null : describeFacts(facts),
  });
}

function describeFacts({ config, local, remote }: DoctorFacts) {
  const { hosts, v3, v4, pages, preview, requests } = remote;
  return {
    requests,
    hosts: hosts.map(({ label, baseUrl, answered, clockOffsetMs }) => {
      return { label, baseUrl, answered, clockOffsetMs };
    }),
    v3: v3.map(({ region, pair, answer }) => ({
      region,
      model: pair.v3,
      answer: answer.kind,
      totalCount: answer.kind === 'answers' ? answer.totalCount : null,
    })),
    v4: describeV4(v4, config),
    parameters: v4?.parameters ?? null,
    pages,
    pairs: preview.map(({ v3CompanyId, v4CompanyId, ...one }) => ({ ...one, v3CompanyId, v4CompanyId })),
    disk: {
      freeBytes: local.freeBytes,
      databaseBytes: local.databaseBytes,
      estimate: estimateDisk(remote, config),
    },
  };
}

function describeV4(facts: DoctorFacts['remote']['v4'], { models }: DoctorFacts['config']) {
  if (facts === null) return null;
  const { companies, asked, lists, answersAnything, suggestions } = facts;
  return {
    companies: companies.length,
    asked: asked.map(String),
    answersAnything,
    models: models.map(({ v3, v4, v4Guessed }) => {
      const own = lists.filter(({ pair }) => pair.v3 === v3);
      const companiesWith = (kind: string): string[] =>
        own.filter(({ answer }) => answer.kind === kind).map(({ companyId }) => String(companyId));
      return {
        model: v3,
        v4,
        guessed: v4Guessed,
        answers: companiesWith('answers'),
        absent: companiesWith('absent'),
        failed: [...companiesWith('failed'), ...companiesWith('refused')],
        suggestions: suggestions.get(v3) ?? [],
      };
    }),
  };
}
