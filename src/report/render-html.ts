import { createHash } from 'node:crypto';
import { STATUSES } from '../reasons.js';
import { countOf, formatDuration, formatShare, formatTime, groupDigits } from '../text/numbers.js';
import { STATUS_NAMES } from './html-charts.js';
import { decisionSection } from './html-decisions.js';
import * as sections from './html-sections.js';
import { STYLE } from './html-style.js';
import { type Html, html, htmlTable, trusted, withCode } from './html-template.js';
import { totalFindings } from './people.js';
import type { Report } from './schema.js';
import { buildVerdict, countV3Ids, type Verdict } from './verdict.js';

/** The report as one HTML file without script that fetches nothing. */
export function renderHtml(report: Report): Iterable<string> {
  const verdict = buildVerdict(report);
  const parts = listSections(report, verdict);
  const links = parts.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`);
  const page = html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy()}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${verdict.title} – svc-migrate report</title>
<style>${trusted(STYLE)}</style>
</head>
<body>
<header>
${renderVerdict(report, verdict)}${renderNumbers(report)}<nav aria-label="Sections"><ul>${links}</ul></nav>
</header>
<main>
${parts.map(renderSection)}</main>
${renderFooter(report)}</body>
</html>
`;
  return [page.markup];
}

/** Nothing may be loaded, sent or run; only this very style sheet applies. */
function policy(): string {
  const digest = createHash('sha256').update(STYLE).digest('base64');
  return `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'`;
}

function listSections(report: Report, verdict: Verdict): sections.Section[] {
  const all = [
    sections.obstacleSection(verdict),
    sections.modelSection(report),
    sections.timelineSection(report),
    sections.trendSection(report),
    sections.limitSection(report),
    sections.reasonSection(report),
    sections.companySection(report),
    sections.fullSyncSection(report),
    decisionSection(report),
    sections.sampleSection(report),
    sections.listSection(report),
    sections.blindSection(report),
  ];
  return all.filter((section) => section !== null);
}

function renderSection({ id, title, body }: sections.Section): Html {
  return html`<section id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>
${body}</section>
`;
}

function renderVerdict(report: Report, verdict: Verdict): Html {
  const { models, companies } = report.scope;
  const only = [
    ...(models === null ? [] : [`models ${models.join(', ')}`]),
    ...(companies === null ? [] : [`companies ${companies.join(', ')}`]),
  ];
  return html`<div class="verdict ${report.outcome}"><h1>${verdict.title}</h1>
<p>${verdict.sentence}</p>
${only.length === 0 ? null : html`<p>Only ${only.join(' and ')}.</p>`}<p><strong>Next:</strong> ${verdict.next.startsWith('svc-migrate ') ? html`<code>${verdict.next}</code>` : withCode(verdict.next)}</p></div>
`;
}

function renderNumbers(report: Report): Html {
  const { totals } = report;
  const rows = totals.byStatus.matched + totalFindings(totals);
  const statuses = STATUSES.map(
    (
      status,
    ) => html`<div class="${status}"><dt>${STATUS_NAMES[status]}</dt><dd>${groupDigits(totals.byStatus[status])} <small>${formatShare(totals.byStatus[status], rows)} of all rows</small></dd></div>
`,
  );
  return html`<dl class="numbers">
<div><dt>V3 ids</dt><dd>${groupDigits(countV3Ids(report))} <small>${countOf(totals.v3Records, 'record')}, ${countOf(totals.v3Children, 'child', 'children')}</small></dd></div>
${statuses}<div><dt>rejected</dt><dd>${groupDigits(totals.rejected)} <small>objects without a usable id</small></dd></div>
</dl>
`;
}

function renderFooter(report: Report): Html {
  const { evidence, tool } = report;
  const age =
    evidence.oldestReadAt === null
      ? 'nothing read yet'
      : `${formatTime(evidence.oldestReadAt)}, ${formatDuration(Date.parse(report.generatedAt) - Date.parse(evidence.oldestReadAt))} before this report`;
  const remap =
    evidence.remap === null
      ? 'none'
      : `${formatTime(evidence.remap.builtAt)}, sha256 ${evidence.remap.sha256}${evidence.remap.stale ? ', older than the exported data' : ''}`;
  const { conservation } = evidence;
  const rows = [
    ['Generated', `${formatTime(report.generatedAt)} by ${tool.name} ${tool.version}`],
    ['Database', evidence.database],
    ['Oldest evidence', age],
    ['Remap', remap],
    [
      'Conservation',
      `${groupDigits(conservation.v3Exported)} exported V3 records and children, ${groupDigits(conservation.v3Rows)} rows`,
    ],
    ...Object.entries(evidence.fingerprint),
  ];
  return html`<footer><h2>Evidence</h2>
${htmlTable('What this report rests on.', [{ title: 'What' }, { title: 'Value' }], rows)}</footer>
`;
}
