import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renderHtml } from '../../src/report/render-html.js';
import { campaign } from '../support/campaign.js';
import { BIG, REPORTS } from './sample-reports.js';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const browserFile = findBrowser();
if (browserFile === null) {
  process.stderr.write(
    '\n*** NOT TESTED: Chromium is not installed, so the HTML report was not opened in a browser. ***\n' +
      '*** Install it (apt-get install chromium) and run the tests again.                       ***\n\n',
  );
}

function findBrowser(): string | null {
  const folders = (process.env['PATH'] ?? '').split(':');
  const files = folders.flatMap((folder) => NAMES.map((name) => `${folder}/${name}`));
  return files.find((file) => existsSync(file)) ?? null;
}

/** Options in code that take more than one line on the page. */
const LIST_BROKEN_OPTIONS = `[...document.querySelectorAll('code')].flatMap((code) => {
  const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  const broken = [];
  while (walker.nextNode()) {
    for (const { 0: option, index } of walker.currentNode.data.matchAll(/--[a-z-]+/g)) {
      const range = document.createRange();
      range.setStart(walker.currentNode, index);
      range.setEnd(walker.currentNode, index + option.length);
      if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) broken.push(option);
    }
  }
  return broken;
})`;

const SCHEMES = ['light', 'dark'] as const;
const WIDTHS = [1280, 400];

describe.skipIf(browserFile === null)('the HTML report in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: browserFile ?? '', args: ['--no-sandbox'] });
  }, 60_000);
  afterAll(() => browser.close());

  /** Opens a report; what it tries to fetch or to run is in `tried`. */
  async function open(html: string, scheme: (typeof SCHEMES)[number], width: number) {
    const context = await browser.newContext({
      bypassCSP: true,
      colorScheme: scheme,
      viewport: { width, height: 900 },
    });
    const page = await context.newPage();
    const tried: string[] = [];
    page.on('request', (request) => tried.push(request.url()));
    page.on('dialog', (dialog) => tried.push(dialog.message()));
    await page.setContent(html);
    return { page, tried, close: () => context.close() };
  }

  async function findViolations(page: Page): Promise<string[]> {
    await page.evaluate(axe.source);
    const found = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
      'axe.run(document).then((results) => results.violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => ({ html })) })))',
    );
    return found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
  }

  const all = REPORTS.flatMap(([name, report], at) =>
    SCHEMES.flatMap((scheme, row) =>
      WIDTHS.map((width, column) => ({ name, report, scheme, width, isOdd: (at + row + column) % 2 === 1 })),
    ),
  );
  // Colours hang on the scheme and the layout on the width: each report once with either.
  const half = all.filter(({ isOdd }) => isOdd);
  const cases = campaign({ small: half, soak: all });

  it.each(cases)(
    'has nothing that axe-core objects to, fetches nothing and scrolls in its tables only: $name, $scheme, $width px',
    async ({ report, scheme, width }) => {
      const { page, tried, close } = await open([...renderHtml(report)].join(''), scheme, width);
      expect(await findViolations(page)).toEqual([]);
      expect(tried).toEqual([]);
      expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      await close();
    },
    120_000,
  );

  it('searches all tables, sorts by a column and opens the samples of what stands in the way', async () => {
    // The page's own policy holds here.
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    await page.setContent([...renderHtml(BIG)].join(''));
    await page.click('.obstacles a[href^="#sample-"]');
    const isOpen = 'document.querySelector(location.hash).closest("details").open';
    expect(await page.evaluate(isOpen)).toBe(true);
    const shown = () => page.locator('main section:visible h2').allTextContents();
    const all = await shown();
    await page.fill('#search', 'no such text anywhere');
    expect([await shown(), await page.textContent('output')]).toEqual([[], '0 rows']);
    await page.fill('#search', BIG.models[0]?.model ?? '');
    expect(await shown()).toContain('Models');
    await page.fill('#search', '');
    expect(await shown()).toEqual(all);
    const numbers = async () => {
      const cells = await page.locator('#reasons tbody tr td:nth-child(3)').allTextContents();
      return cells.map((text) => Number(text.replaceAll(',', '')));
    };
    const before = await numbers();
    const head = page.locator('#reasons thead th').nth(2);
    for (const [order, sign] of [
      ['ascending', 1],
      ['descending', -1],
    ] as const) {
      await head.locator('button').click();
      expect(await head.getAttribute('aria-sort')).toBe(order);
      expect(await numbers()).toEqual([...before].sort((a, b) => sign * (a - b)));
    }
    const buttons = (await page.locator('main thead button').allTextContents()).map((text) => text.trim());
    expect(buttons).toContain('matched');
    for (const title of ['Statuses', 'What it means', 'Allowed', 'Evidence'])
      expect(buttons).not.toContain(title);
    await context.close();
  });

  it('never breaks an option of a command, however narrow the page is', async () => {
    const { page, close } = await open([...renderHtml(BIG)].join(''), 'light', 400);
    for (let width = 330; width <= 430; width += 4) {
      await page.setViewportSize({ width, height: 900 });
      expect([width, await page.evaluate(LIST_BROKEN_OPTIONS)]).toEqual([width, []]);
    }
    await close();
  });

  it('is whole without its script', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.setContent([...renderHtml(BIG)].join(''));
    expect(await page.locator('input, button').count()).toBe(0);
    expect(await page.locator('main section:visible').count()).toBeGreaterThan(5);
    await context.close();
  });

  it('is objected to where its text is too faint', async () => {
    const faint = '<h1 style="color:#aaa;background:#fff">Matched</h1>';
    const html = `<!doctype html><html lang="en"><title>x</title><main>${faint}</main></html>`;
    const { page, close } = await open(html, 'light', 800);
    expect((await findViolations(page)).join()).toMatch(/^color-contrast/);
    await close();
  });
});
