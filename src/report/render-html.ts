import { createHash } from 'node:crypto';
import { countOf, formatDuration, formatTime, groupDigits } from '../text/numbers.js';
import { buildVerdict, type CutoverVerdict } from './build-verdict.js';
import { countIds, describeScope } from './describe.js';
import { SCRIPT, STYLE } from './html-assets.js';
import { type Html, html, htmlTable, trusted, withCode } from './html-parts.js';
import { listSections } from './html-sections.js';
import type { Report } from './report-schema.js';
import { listStatuses, STATUS_NAMES } from './tables.js';

/** The report as one HTML file without external resources. It is complete without its script, which searches and sorts. */
export function renderHtml(report: Report): Iterable<string> {
  const verdict = buildVerdict(report);
  const parts = listSections(report, verdict);
  const links = parts.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`);
  const sections = parts.map(
    ({
      id,
      title,
      body,
    }) => html`<section id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>
${body}</section>
`,
  );
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
${renderOrigin(report)}${renderVerdict(report, verdict)}${renderNumbers(report)}<nav aria-label="Sections"><ul>${links}</ul></nav>
</header>
<main>
${sections}</main>
${renderFooter(report)}<script>${trusted(SCRIPT)}</script>
</body>
</html>
`;
  return [page.markup];
}

/** A Content-Security-Policy that forbids loading and sending anything, and allows only this style sheet and this script. */
function policy(): string {
  const digestOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  return `default-src 'none'; style-src ${digestOf(STYLE)}; script-src ${digestOf(SCRIPT)}; base-uri 'none'; form-action 'none'`;
}

/** What the report is about, for readers who did not run it. */
function renderOrigin({ evidence, generatedAt, tool }: Report): Html {
  const hosts = (side: string) =>
    Object.entries(evidence.fingerprint)
      .filter(([name]) => name === `${side}.baseUrl` || name.startsWith(`${side}.regions.`))
      .map(([, address]) => address)
      .join(', ');
  const parts = [
    `Migration from V3 (${hosts('v3')}) to V4 (${hosts('v4')})`,
    `report of ${formatTime(generatedAt)}`,
    `database ${evidence.database}`,
    `${tool.name} ${tool.version}`,
  ];
  return html`<p class="meta origin">${parts.join(' · ')}</p>
`;
}

function renderVerdict(report: Report, verdict: CutoverVerdict): Html {
  const only = describeScope(report.scope);
  const { next } = verdict;
  const step = next.startsWith('svc-migrate ') ? html`<code>${next}</code>` : withCode(next);
  return html`<div class="verdict ${report.outcome}"><h1>${verdict.title}</h1>
<p>${verdict.sentence}</p>
${only === null ? null : html`<p>${only}</p>`}<p><strong>Next:</strong> ${step}</p></div>
`;
}

function renderNumbers({ totals }: Report): Html {
  const box = (status: string, name: string, count: number, note: string) =>
    html`<div${status === '' ? null : html` class="${status}"`}><dt>${name}</dt><dd>${groupDigits(count)} <small>${note}</small></dd></div>
`;
  const ids = `${countOf(totals.v3Records, 'record')}, ${countOf(totals.v3Children, 'child', 'children')}`;
  const statuses = listStatuses(totals).map(({ status, count, share }) =>
    box(status, STATUS_NAMES[status], count, share === null ? 'without a V3 id' : `${share} of V3 ids`),
  );
  return html`<dl class="numbers">
${box('', 'V3 ids', countIds(totals).v3, ids)}${statuses}${box('', 'rejected', totals.rejected, 'objects without a usable id')}</dl>
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
${htmlTable('What this report is based on.', [{ title: 'What' }, { title: 'Value' }], rows)}</footer>
`;
}
