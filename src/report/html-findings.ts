import type { ReportFinding } from '../store/finding-rows.js';
import { describeEvidence, isRowEvidence } from '../text/describe-evidence.js';
import { groupBy } from '../text/group-by.js';
import { countOf } from '../text/numbers.js';
import { isEmpty } from '../text/rows.js';
import { cutText } from '../text/text-layout.js';
import type { CutoverVerdict } from './build-verdict.js';
import { describeKey, listModels } from './describe.js';
import { type Html, html, htmlTable, withCode } from './html-parts.js';
import type { Report } from './report-schema.js';
import { unordered } from './tables.js';

const MAX_NAMED_MODELS = 8;
const MAX_CHARS = 300;

/** What stands in the way of the cutover, each with its samples and, where the operator can help, the letter. */
export function renderObstacles({ obstacles }: CutoverVerdict, report: Report): Html | null {
  if (obstacles.length === 0) return null;
  const groups = [...groupSamples(report.findings.samples).keys()];
  const hasLetter = !isEmpty(report.fullSync);
  const items = obstacles.map(({ key, numbers, meaning, action, models }) => {
    const found =
      models.length === 0 ? null : html`<p class="meta">${listModels(models, MAX_NAMED_MODELS)}</p>`;
    const group = groups.find((one) => one === key || one === parentKey(key) || one.startsWith(`${key}/`));
    const samples = group === undefined ? [] : [html`<a href="#${anchorOf(group)}">Samples</a>`];
    const isSync = hasLetter && key.endsWith('outside_backfill_window');
    const letter = isSync ? [html`<a href="#full-sync">What to ask the operator for</a>`] : [];
    const links = [...samples, ...letter];
    return html`<li><h3>${nameOf(key)}${numbers === '' ? '' : `: ${numbers}`}</h3>
<p>${withCode(meaning)} <strong>${withCode(action)}</strong></p>
${found}${links.length === 0 ? null : html`<p>${links.map((link, at) => html`${at === 0 ? '' : ' · '}${link}`)}</p>`}</li>
`;
  });
  return html`<ol class="obstacles">${items}</ol>`;
}

function nameOf(key: string): Html {
  const { title } = describeKey(key);
  return title === '' ? html`<code>${key}</code>` : html`${title} <code class="key-name">${key}</code>`;
}

function parentKey(key: string): string {
  return key.replace('/', '/parent_');
}

function anchorOf(key: string): string {
  return `sample-${key.replace(/[^a-z0-9_]/g, '-')}`;
}

function groupSamples(samples: readonly ReportFinding[]): ReadonlyMap<string, ReportFinding[]> {
  return groupBy(samples, ({ status, reason }) => (reason === null ? status : `${status}/${reason}`));
}

/** The first findings of each kind. */
export function renderSamples({ findings }: Report): Html | null {
  if (findings.samples.length === 0) return null;
  const titles = ['Model', 'platform_id', 'V3 id', 'V4 id', 'Company'];
  const columns = [...titles.map((title) => ({ title })), unordered('Evidence')];
  // A link to something inside a closed part opens that part.
  const parts = [...groupSamples(findings.samples)].map(
    ([key, samples]) => html`<details><summary>${nameOf(key)}</summary>
<p id="${anchorOf(key)}">${describeKey(key).meaning}</p>
${htmlTable(`Samples of ${key}.`, columns, samples.map(sampleCells))}</details>
`,
  );
  return html`<p>${countOf(findings.total, 'finding')} in all, up to five shown of each kind. The full list: ${withCode(findings.fullList)}.</p>
${parts}`;
}

function sampleCells(one: ReportFinding): (string | Html)[] {
  return [
    one.path === '' ? one.model : `${one.model} › ${one.path}`,
    html`<code>${cutText(one.platform_id ?? '–', MAX_CHARS)}</code>`,
    one.v3_svc_id ?? '–',
    one.v4_svc_id ?? '–',
    `${one.v3_company_id ?? '–'} → ${one.v4_company_id ?? '–'}${one.region === null ? '' : ` (${one.region})`}`,
    html`${sentencesOf(one).map((text) => html`<p>${cutText(text, MAX_CHARS)}</p>`)}`,
  ];
}

function sentencesOf({ evidence, reason }: ReportFinding): string[] {
  const sentences = isRowEvidence(evidence) ? describeEvidence(evidence, reason) : [JSON.stringify(evidence)];
  return sentences.length === 0 ? ['–'] : sentences;
}
