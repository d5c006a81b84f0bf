import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import page from '../../src/docs/scan.md';

const SAMPLES = fileURLToPath(new URL('../../fixtures/scan', import.meta.url));
const searches = [...page.matchAll(/^# (.*)\n(rg -n .*)$/gm)].map(([, what = '', line = '']) => ({
  what,
  line,
}));
const gate = /^! rg -q .*$/m.exec(page)?.[0] ?? '';

function shell(line: string, cwd = SAMPLES) {
  return spawnSync('bash', ['-c', line], { cwd, encoding: 'utf8', input: '' });
}

/** The files that each search finds. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  'addresses of V3': ['deploy.yaml', 'invoices.ts'],
  routes: ['encoded.sh', 'invoices.ts', 'stages.py'],
  'the filter on the company': ['stages.py'],
  'parameters and operators of V3': ['client.rb', 'encoded.sh', 'stages.py'],
  'the envelope': ['fixture.json', 'pages.php', 'totals.go'],
  GraphQL: ['graph.ts'],
  'ids in code': ['fixture.json', 'pinned.ts'],
  webhooks: ['events.ts'],
  'API keys of V3': ['deploy.yaml', 'encoded.sh'],
  'columns that hold ids': ['schema.sql'],
};

describe.skipIf(shell('command -v rg').status !== 0)('the searches of `help scan`', () => {
  it('find the files that they should, and no others', () => {
    const hits = searches.map(({ what, line }) => [
      what.replace(/[:,].*/, ''),
      [
        ...new Set(
          shell(`${line} .`)
            .stdout.split('\n')
            .flatMap((hit) => /^\.\/([^:]+):/.exec(hit)?.[1] ?? []),
        ),
      ].sort(),
    ]);
    expect(Object.fromEntries(hits)).toEqual(EXPECTED);
  });

  it('find something in every sample of V3, and nothing in V4 code', () => {
    const all = new Set(Object.values(EXPECTED).flat());
    expect(readdirSync(SAMPLES).filter((file) => !all.has(file))).toEqual(['v4.ts']);
  });

  it('are a gate that fails while V3 is called', () => {
    expect(shell(gate.replace(/ src$/, ' .')).status).toBe(1);
    expect(shell(gate.replace(/ src$/, ' v4.ts')).status).toBe(0);
  });
});
