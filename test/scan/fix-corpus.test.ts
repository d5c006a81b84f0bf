import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load-config.js';
import { walk } from '../../src/scan/access.js';
import { type FixPlan, planFix } from '../../src/scan/fix/fix-files.js';
import { languageOf } from '../../src/scan/languages.js';
import { buildScanSettings } from '../../src/scan/scan-settings.js';
import { SyntaxParser } from '../../src/scan/syntax.js';
import { campaignCases } from '../support/campaign.js';

const CORPUS = fileURLToPath(new URL('../../fixtures/scan', import.meta.url));
const CASES = readdirSync(CORPUS, { withFileTypes: true })
  .filter((language) => language.isDirectory())
  .flatMap(({ name: language }) => readdirSync(join(CORPUS, language)).map((name) => `${language}/${name}`));

const parser = await SyntaxParser.create();
const root = mkdtempSync(join(tmpdir(), 'fix-corpus-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function fixCase(name: string): Promise<FixPlan> {
  const folder = join(root, name);
  const isInput = (path: string) => !/^(fixed|expected\.json)(\/|$)/.test(relative(join(CORPUS, name), path));
  cpSync(join(CORPUS, name), folder, { recursive: true, filter: isInput });
  return planCase(name, false);
}

function planCase(name: string, isMarking: boolean): Promise<FixPlan> {
  const folder = join(root, name);
  const file = join(folder, 'svc-migrate.config.json');
  const config = existsSync(file) ? loadConfig({ env: {}, flags: { config: file }, nowMs: 0 }) : null;
  const scan = { paths: ['.'], folder, ownFiles: [], settings: buildScanSettings(config, []) };
  const fix = { companies: { areSame: true, v4Ids: {} }, isFixing: true, isMarking };
  const io = { isStopped: () => false, onProgress: () => {} };
  return planFix({ scan, fix, failOn: 'certain' }, io, parser);
}

describe('the fix of the samples', () => {
  it.each(CASES)('%s is as expected', async (name) => {
    const { files } = await fixCase(name);
    const expected = join(CORPUS, name, 'fixed');
    const same = (path: string) => readFileSync(join(CORPUS, name, path), 'utf8');
    const wanted = Object.fromEntries(
      existsSync(expected)
        ? readdirSync(expected, { recursive: true, withFileTypes: true })
            .filter((entry) => entry.isFile())
            .map((entry) => relative(expected, join(entry.parentPath, entry.name)))
            .map((path) => [path, readFileSync(join(expected, path), 'utf8')])
            .filter(([path = '', text]) => same(path) !== text)
        : [],
    );
    expect(Object.fromEntries(files.map(({ path, after }) => [path, after]))).toEqual(wanted);
    if (files.length === 0) return;
    for (const { absolute, after } of files) writeFileSync(absolute, after);
    // The patched files parse as well as before, which the plan itself makes sure of; a second run finds nothing.
    expect((await planCase(name, false)).files).toEqual([]);
  });

  it.each(campaignCases(CASES, 4))('%s is marked once, and parses as before', async (name) => {
    const first = await planCase(name, true);
    for (const { absolute, before, after } of first.files) {
      expect(await errorsOf(absolute, after)).toBe(await errorsOf(absolute, before));
      writeFileSync(absolute, after);
    }
    const marks = first.result.findings.filter(({ rule }) => rule === 'mark').length;
    expect(marks).toBeGreaterThanOrEqual(first.marked);
    const second = await planCase(name, true);
    expect([second.files, second.marked]).toEqual([[], 0]);
  });
});

async function errorsOf(path: string, text: string): Promise<number> {
  const language = languageOf(path);
  if (language === null) return 0;
  await parser.prepare(language);
  const tree = parser.parse(language, text);
  return typeof tree === 'string' ? -1 : walk(tree).filter(({ type }) => type === 'ERROR').length;
}
