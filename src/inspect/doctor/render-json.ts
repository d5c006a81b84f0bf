import { escapeJson } from '../../text/escape.js';
import { estimateDisk } from './estimate-disk.js';
import type { DoctorFacts, V4Facts } from './facts.js';
import { type Finding, judgeFindings, sortFindings } from './finding.js';

/** The findings for programs, with the facts behind them; ids are digits in text. */
export function renderDoctorJson(findings: readonly Finding[], facts: DoctorFacts | null): string {
  const code = judgeFindings(findings);
  const value = {
    schemaVersion: 1,
    ready: code === 0,
    exitCode: code,
    findings: sortFindings(findings).map(describeFinding),
    facts: facts === null ? null : describeFacts(facts),
  };
  return `${escapeJson(JSON.stringify(value, null, 2))}\n`;
}

function describeFinding({ level, area, code, text, fix, exitCode }: Finding) {
  return { level, area, code, text, fix: fix ?? null, exitCode: exitCode ?? null };
}

function describeFacts({ config, local, remote }: DoctorFacts) {
  const { hosts, v3, v4, pages, preview, requests } = remote;
  return {
    requests,
    hosts: hosts.map(({ label, baseUrl, answered, clockOffsetMs }) => ({
      label,
      baseUrl,
      answered,
      clockOffsetMs,
    })),
    v3: v3.map(({ region, pair, answer }) => ({
      region,
      model: pair.v3,
      answer: answer.kind,
      totalCount: answer.kind === 'answers' ? answer.totalCount : null,
    })),
    v4: v4 === null ? null : describeV4(v4, config.models),
    parameters: v4?.switches ?? null,
    pages,
    pairs: preview.map(({ v3CompanyId, v4CompanyId, ...one }) => ({
      ...one,
      v3CompanyId: String(v3CompanyId),
      v4CompanyId: v4CompanyId === null ? null : String(v4CompanyId),
    })),
    disk: {
      freeBytes: local.freeBytes,
      databaseBytes: local.databaseBytes,
      estimate: estimateDisk(remote, config),
    },
  };
}

function describeV4(
  { companies, asked, lists, answersAnything, suggestions }: V4Facts,
  models: DoctorFacts['config']['models'],
) {
  return {
    companies: companies?.length ?? null,
    asked: asked.map(String),
    answersAnything,
    models: models.map(({ v3, v4, v4Guessed }) => {
      const own = lists.filter(({ pair }) => pair.v3 === v3);
      const of = (kind: string): string[] =>
        own.filter(({ answer }) => answer.kind === kind).map(({ companyId }) => String(companyId));
      return {
        model: v3,
        v4,
        guessed: v4Guessed,
        answers: of('answers'),
        absent: of('absent'),
        failed: [...of('failed'), ...of('refused')],
        suggestions: suggestions.get(v3) ?? [],
      };
    }),
  };
}
