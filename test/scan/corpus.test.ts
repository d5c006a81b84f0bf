import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../src/config/load-config.js';
import { buildScanSettings, type Certainty } from '../../src/scan/rules/rule.js';
import { scanFiles } from '../../src/scan/scan-files.js';
import type { V3Use } from '../../src/scan/scan-report.js';
import { SyntaxParser } from '../../src/scan/syntax.js';

const CORPUS = fileURLToPath(new URL('../../fixtures/scan', import.meta.url));
const entry = z.strictObject({
  file: z.string(),
  line: z.int(),
  rule: z.string(),
  certainty: z.enum(['certain', 'likely', 'look']),
});
const expectation = z.object({ findings: z.array(entry), look: z.array(entry) });
type Entry = z.output<typeof entry>;

const STRENGTH: Readonly<Record<Certainty, number>> = { certain: 2, likely: 1, look: 0 };
const keyOf = ({ file, line, rule }: Pick<Entry, 'file' | 'line' | 'rule'>) => `${file}:${line} ${rule}`;

interface Scanned {
  readonly language: string;
  readonly name: string;
  readonly expected: readonly Entry[];
  readonly allowed: readonly Entry[];
  readonly found: readonly V3Use[];
}

const CASES = readdirSync(CORPUS, { withFileTypes: true })
  .filter((language) => language.isDirectory())
  .flatMap(({ name: language }) =>
    readdirSync(join(CORPUS, language)).map((name) => ({
      language,
      name,
      folder: join(CORPUS, language, name),
    })),
  );

/** Grammars are slow to load: all samples share them. */
const parser = await SyntaxParser.create();
const folder = mkdtempSync(join(tmpdir(), 'scan-corpus-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function scanCase(one: (typeof CASES)[number]): Promise<Scanned> {
  const copy = join(folder, one.language, one.name);
  const isInput = (path: string) => path !== join(one.folder, 'expected.json');
  cpSync(one.folder, copy, { recursive: true, filter: isInput });
  const file = join(copy, 'svc-migrate.config.json');
  const config = existsSync(file) ? loadConfig({ env: {}, flags: { config: file }, nowMs: 0 }) : null;
  const request = { paths: ['.'], folder: copy, ownFiles: [], settings: buildScanSettings(config, []) };
  const { findings } = await scanFiles(request, { isStopped: () => false, onProgress: () => {} }, parser);
  const text = readFileSync(join(one.folder, 'expected.json'), 'utf8');
  const { findings: expected, look: allowed } = expectation.parse(JSON.parse(text));
  return { language: one.language, name: one.name, expected, allowed, found: findings };
}

describe('the samples of code', () => {
  let scanned: readonly Scanned[];
  beforeAll(async () => {
    scanned = await Promise.all(CASES.map(scanCase));
  });

  it('have their uses found, and little else, by rule and language', () => {
    const table: Record<string, { expected: number; found: number; claimed: number; right: number }> = {};
    const missed: string[] = [];
    const wrong: string[] = [];
    for (const { language, name, expected, allowed, found } of scanned) {
      const rowOf = (rule: string) =>
        (table[`${language} ${rule}`] ??= { expected: 0, found: 0, claimed: 0, right: 0 });
      for (const one of expected.filter(({ certainty }) => certainty !== 'look')) {
        const hit = found.find((use) => keyOf(use) === keyOf(one));
        const isFound = hit !== undefined && hit.certainty !== 'look';
        rowOf(one.rule).expected += 1;
        rowOf(one.rule).found += isFound ? 1 : 0;
        if (!isFound) missed.push(`${language}/${name} ${keyOf(one)}`);
      }
      for (const use of found) {
        const isRight = [...expected, ...allowed].some((one) => keyOf(one) === keyOf(use));
        rowOf(use.rule).claimed += 1;
        rowOf(use.rule).right += isRight ? 1 : 0;
        if (!isRight) wrong.push(`${language}/${name} ${keyOf(use)}`);
      }
    }
    const sum = (name: 'expected' | 'found' | 'claimed' | 'right') =>
      Object.values(table).reduce((total, row) => total + row[name], 0);
    const recall = sum('found') / sum('expected');
    const precision = sum('right') / sum('claimed');
    const rows = Object.entries(table).map(
      ([name, row]) => `${name}: recall ${row.found}/${row.expected}, precision ${row.right}/${row.claimed}`,
    );
    process.stdout.write(
      [...rows, `missed: ${missed.join(', ')}`, `wrong: ${wrong.join(', ')}`, ''].join('\n'),
    );
    process.stdout.write(
      `recall ${(recall * 100).toFixed(1)} %, precision ${(precision * 100).toFixed(1)} %\n`,
    );
    expect(sum('expected')).toBeGreaterThan(500);
    expect(recall).toBeGreaterThanOrEqual(0.95);
    expect(precision).toBeGreaterThanOrEqual(0.97);
  });

  it('have no finding that claims more than the evidence allows', () => {
    const over = scanned.flatMap(({ language, name, expected, allowed, found }) =>
      found.flatMap((use) => {
        const known = [...expected, ...allowed].find((one) => keyOf(one) === keyOf(use));
        const claimsMore = known !== undefined && STRENGTH[use.certainty] > STRENGTH[known.certainty];
        return claimsMore ? [`${language}/${name} ${keyOf(use)} ${use.certainty}`] : [];
      }),
    );
    expect(over).toEqual([]);
  });
});
