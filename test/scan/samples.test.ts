import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { z } from 'zod';

const SAMPLES = fileURLToPath(new URL('../../fixtures/scan', import.meta.url));
const RULES =
  'base-url route company-filter graphql envelope query-parameter hard-coded-id stored-id id-width webhook ' +
  'recorded-response client-library';

const Findings = z.array(
  z.strictObject({
    file: z.string(),
    line: z.int().positive(),
    rule: z.string().refine((rule) => RULES.split(' ').includes(rule)),
    certainty: z.enum(['certain', 'likely', 'look']),
  }),
);
const Expected = z.strictObject({ findings: Findings, look: Findings });

const CASES = readdirSync(SAMPLES, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .flatMap(({ name }) => readdirSync(join(SAMPLES, name)).map((sample) => join(SAMPLES, name, sample)));

it('expects findings on lines that exist, each once', () => {
  expect(CASES.length).toBeGreaterThan(70);
  for (const folder of CASES) {
    const expected = readExpected(folder);
    const all = [...expected.findings, ...expected.look];
    for (const { file, line } of all) expect(linesOf(join(folder, file))[line - 1]?.trim()).toBeTruthy();
    expect(new Set(all.map(({ file, line, rule }) => `${file}:${line} ${rule}`)).size).toBe(all.length);
  }
});

it('expects nothing certain without a configuration', () => {
  const unconfigured = CASES.filter((folder) => !existsSync(join(folder, 'svc-migrate.config.json')));
  expect(unconfigured.length).toBeGreaterThan(5);
  for (const folder of unconfigured) {
    expect(readExpected(folder).findings.map(({ certainty }) => certainty)).not.toContain('certain');
  }
});

function readExpected(folder: string): z.infer<typeof Expected> {
  return Expected.parse(JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8')));
}

function linesOf(file: string): string[] {
  return readFileSync(file, 'utf8').split('\n');
}
