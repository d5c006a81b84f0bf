import { describe, expect, it } from 'vitest';
import { RENDERERS } from '../../src/commands/report.js';
import { renderJunit } from '../../src/report/render-ci.js';
import { renderHtml } from '../../src/report/render-html.js';
import { renderMarkdown } from '../../src/report/render-markdown.js';
import { renderNdjson } from '../../src/report/render-rows.js';
import { renderText } from '../../src/report/render-text.js';
import { type Report, reportSchema } from '../../src/report/report-schema.js';
import type { RemapRow } from '../../src/store/remap-rows.js';
import { displayWidth } from '../../src/text/text-layout.js';
import { HOSTILE_TEXT } from './sample-report.js';
import { BIG, EMPTY, HOSTILE, REPORTS, SMALL } from './sample-reports.js';

const join = (chunks: Iterable<string>) => [...chunks].join('');

/** Anything that could act on a terminal or be invisible, line feeds aside. */
const UNSEEN =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/u;

it('the sample reports are reports', () => {
  for (const [, report] of REPORTS) expect(reportSchema.parse(report)).toEqual(report);
});

describe('text', () => {
  it('reads like this', async () => {
    await expect(renderText(SMALL, { width: 80, color: false })).toMatchFileSnapshot(
      '../../fixtures/report/small.txt',
    );
  });

  it.each(REPORTS)('stays within the width and clean with %s', (_, report) => {
    for (const [width, verbose] of [40, 60, 80, 120, 200].flatMap((one) => [
      [one, false] as const,
      [one, true] as const,
    ])) {
      const text = renderText(report, { width, verbose, color: false });
      expect(text).not.toMatch(UNSEEN);
      const table = width < 70 ? 80 : width;
      // `Next` is one line, so that it can be copied.
      const lines = text.split('\n').filter((line) => !line.startsWith('Next: '));
      for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(table);
      if (verbose && width >= 80) expect(text).toContain(report.evidence.remap?.sha256 ?? '');
    }
  });

  it('ends with the verdict, the blocker and the next command in five lines', () => {
    const text = 'accounting/invoices in default (127.0.0.1 asked to wait until tomorrow); '.repeat(9);
    const blocker: Report['blockers'][number] = {
      code: 'stream_unfinished',
      outcome: 'incomplete',
      text,
      next: 'svc-migrate run',
    };
    const inUse = { by: 'svc-migrate export v3 (process 12 on vm)', next: null };
    for (const sample of [SMALL, BIG, HOSTILE, EMPTY, { ...BIG, blockers: [blocker] }]) {
      for (const width of [40, 80]) {
        const end = renderText(sample, { width, color: false, inUse }).trimEnd().split('\n').slice(-5);
        expect(end.join('\n')).toMatch(/^(NOT|SAFE).*^Next: /ms);
        if (sample.blockers.length > 0) expect(end.join('\n')).toContain('\nBiggest blocker');
      }
    }
  });

  it('has colour only where asked', () => {
    const strip = (text: string) => text.replaceAll(/\u001b\[[\d;]*m/g, '');
    const colored = renderText(HOSTILE, { width: 80, color: true });
    expect(strip(colored)).toBe(renderText(HOSTILE, { width: 80, color: false }));
    expect(colored).not.toBe(strip(colored));
  });
});

describe('JSON', () => {
  it.each(REPORTS)('says exactly the report with %s, and nothing acts on a terminal', (_, report) => {
    const text = join(RENDERERS.json({ report, flags: '', findings: () => [] }));
    expect(JSON.parse(text)).toEqual(report);
    expect(text).not.toMatch(UNSEEN);
  });
});

describe('NDJSON', () => {
  const row: RemapRow = {
    model: 'a/b',
    path: '',
    region: 'eu',
    v3_company_id: 2n ** 63n - 1n,
    v4_company_id: null,
    platform_id: HOSTILE_TEXT,
    parent_platform_id: null,
    v3_svc_id: 9007199254740993n,
    v4_svc_id: null,
    status: 'unmatched',
    reason: 'unexplained',
    matched_by: null,
    evidence: '{"n":\n12345678901234567890,"t":"\u202e"}',
  };

  it('is one line per finding, ids as digits, numbers of the evidence as they were', () => {
    const text = join(renderNdjson([row, row]));
    expect(text.split('\n')).toHaveLength(3);
    expect(text).not.toMatch(UNSEEN);
    expect(text).toContain('"v3_svc_id":"9007199254740993"');
    expect(text).toContain('"evidence":{"n": 12345678901234567890,"t":"\\u202e"}');
    expect(JSON.parse(text.split('\n')[0] ?? '')).toMatchObject({
      platform_id: HOSTILE_TEXT,
      v4_svc_id: null,
    });
  });

  it('keeps evidence that is no JSON as text', () => {
    const text = join(renderNdjson([{ ...row, evidence: '{oops' }]));
    expect(JSON.parse(text)).toMatchObject({ evidence: '{oops' });
  });
});

const VOID = ['meta', 'br'];

/** Names of all tags, and of all attributes; throws where they do not nest. */
function parseMarkup(markup: string): { tags: Set<string>; attributes: Set<string> } {
  const [tags, attributes, open] = [new Set<string>(), new Set<string>(), [] as string[]];
  const token =
    /<(\/?)([A-Za-z][\w-]*)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>|<\?xml[^>]*\?>|<!DOCTYPE html>|([^<]+)/gy;
  let at = 0;
  for (let found = token.exec(markup); found !== null; found = token.exec(markup)) {
    at = token.lastIndex;
    const [, closing, name, list = '', selfClosing, text] = found;
    if (text !== undefined) {
      const inStyle = open.at(-1) === 'style' || open.at(-1) === 'script';
      if (!inStyle && /&(?!(?:amp|lt|gt|quot|#39);)/.test(text)) throw new Error(`bare & in ${text}`);
    } else if (name !== undefined && closing === '/') {
      if (open.pop() !== name) throw new Error(`</${name}> closes nothing`);
    } else if (name !== undefined) {
      tags.add(name);
      for (const [, attribute = ''] of list.matchAll(/\s([\w:-]+)="/g)) attributes.add(attribute);
      if (selfClosing !== '/' && !VOID.includes(name)) open.push(name);
    }
  }
  if (at !== markup.length || open.length > 0)
    throw new Error(`not well-formed at ${markup.slice(at, at + 80)}`);
  return { tags, attributes };
}

describe('HTML', () => {
  const TAGS =
    'a body br caption circle code dd details div dl dt footer g h1 h2 h3 head header html li line main meta nav ol p polyline rect script section small span strong style summary svg table tbody td text th thead title tr ul wbr';
  const ATTRIBUTES =
    'aria-hidden aria-label aria-labelledby charset class content cx cy data-unordered height href http-equiv id lang name points preserveAspectRatio r role scope tabindex text-anchor viewBox width x x1 x2 y y1 y2';

  it.each(REPORTS)('is well-formed, without links to elsewhere, with %s', (_, report) => {
    const page = join(renderHtml(report));
    const { tags, attributes } = parseMarkup(page);
    expect([...tags].filter((tag) => !TAGS.split(' ').includes(tag))).toEqual([]);
    expect([...attributes].filter((one) => !ATTRIBUTES.split(' ').includes(one))).toEqual([]);
    expect(page.match(/href="(?!#)[^"]*"/g)).toBeNull();
    expect(page).not.toMatch(/url\(|@import/);
    expect(page.replaceAll('\n', ' ')).not.toMatch(UNSEEN);
  });

  it('forbids everything but its own style sheet and script', () => {
    const page = join(renderHtml(SMALL));
    expect(page).toMatch(
      /content="default-src &#39;none&#39;; style-src &#39;sha256-[\w+/=]+&#39;; script-src &#39;sha256-[\w+/=]+&#39;; base-uri &#39;none&#39;; form-action &#39;none&#39;"/,
    );
  });

  it('gives every table a caption, every picture a name and no heading a gap', () => {
    const page = join(renderHtml(BIG));
    expect(page.match(/<caption>/g)).toHaveLength(page.match(/<table>/g)?.length ?? 0);
    expect(page.match(/<svg (?![^>]*(?:role="img" aria-label="[^"]+"|aria-hidden="true"))/g)).toBeNull();
    const levels = [...page.matchAll(/<h(\d)/g)].map(([, level]) => Number(level));
    for (const [at, level] of levels.entries()) expect(level - (levels[at - 1] ?? 0)).toBeLessThanOrEqual(1);
  });

  it('shows the same numbers as the report', () => {
    const page = join(renderHtml(SMALL));
    for (const model of SMALL.models)
      expect(page).toContain(`aria-label="matched ${model.byStatus.matched.toLocaleString('en')}`);
    expect(page.match(/class="window"/g)).toHaveLength(1);
  });
});

describe('Markdown', () => {
  it('reads like this', async () => {
    await expect(join(renderMarkdown(SMALL))).toMatchFileSnapshot('../../fixtures/report/small.md');
  });

  it('prints the next command whole', () => {
    const text = join(renderMarkdown(SMALL, ` --config '${'a`b`'.repeat(200)}.json'`));
    expect(text).toContain(` --config '${'a&#96;b&#96;'.repeat(200)}.json'\n`);
  });

  it.each(REPORTS)('keeps its shape, and fits a pull request comment, with %s', (_, report) => {
    const text = join(renderMarkdown(report));
    expect(text.length).toBeLessThan(65_536);
    expect(text).not.toMatch(UNSEEN);
    expect(
      [...text.matchAll(/<[^>]*>/g)]
        .map(([tag]) => tag.replace('/', ''))
        .filter((tag) => !/^<(?:details|summary|code|sub)>$/.test(tag)),
    ).toEqual([]);
    expect(text).not.toMatch(/@|\]\(|\*\*bold|`|www\.e/);
    let cells = 0;
    for (const line of text.split('\n')) {
      if (line.startsWith('|')) {
        const count = line.split('|').length;
        if (cells > 0) expect(count).toBe(cells);
        cells = count;
      } else {
        cells = 0;
        expect(line).not.toContain('|');
      }
    }
  });
});

describe('JUnit', () => {
  it('reads like this', async () => {
    await expect(join(renderJunit(SMALL))).toMatchFileSnapshot('../../fixtures/report/small.junit.xml');
  });

  it.each(REPORTS)('is well-formed and its counts hold with %s', (_, report) => {
    const xml = join(renderJunit(report));
    parseMarkup(xml);
    expect(xml.replaceAll('\n', ' ')).not.toMatch(UNSEEN);
    for (const [suite] of xml.matchAll(/<testsuite [\s\S]*?<\/testsuite>/g)) {
      const count = (name: string) => Number(new RegExp(` ${name}="(\\d+)"`).exec(suite)?.[1]);
      expect(count('tests')).toBe(suite.match(/<testcase /g)?.length ?? 0);
      expect(count('failures')).toBe(suite.match(/<failure /g)?.length ?? 0);
      expect(count('errors')).toBe(suite.match(/<error /g)?.length ?? 0);
      expect(count('skipped')).toBe(suite.match(/<skipped\/>/g)?.length ?? 0);
      expect(suite).toMatch(
        /^<testsuite [^>]*>\n<properties>.*<\/properties>\n(?:<testcase [\s\S]*)?<system-out\/>\n<system-err\/>\n<\/testsuite>$/,
      );
    }
  });

  it('is red exactly where the report does not pass', () => {
    const green: Report = {
      ...SMALL,
      outcome: 'pass',
      gate: {
        pass: true,
        limits: SMALL.gate.limits.map((limit) => ({ ...limit, pass: true, contributors: [] })),
      },
    };
    expect(join(renderJunit(green))).not.toMatch(/<failure|<error/);
    for (const report of [SMALL, EMPTY]) expect(join(renderJunit(report))).toMatch(/<failure|<error/);
  });
});
