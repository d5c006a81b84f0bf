import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { buildScanSettings, RULE_IDS } from '../../src/scan/rules/rule.js';
import { scanFiles } from '../../src/scan/scan-files.js';
import { SyntaxParser } from '../../src/scan/syntax.js';

const PAGE = readFileSync(new URL('../../src/docs/scan.md', import.meta.url), 'utf8');
/** Blocks of code that name their file. */
const EXAMPLES = [...PAGE.matchAll(/^```\w+ (\S+)\n([\s\S]*?)^```$/gm)].map(([, file = '', text = '']) => ({
  file,
  text,
}));
const IN_JSON = 'hard-coded-id, recorded-response';

it('the examples in the documentation are found by the rules that stand beside them, and by no others', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'scan-examples-'));
  try {
    for (const { file, text } of EXAMPLES) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), text);
    }
    const settings = buildScanSettings(null, ['eu.ledger.example']);
    const request = { paths: ['.'], folder, ownFiles: [], settings };
    const parser = await SyntaxParser.create();
    const { findings } = await scanFiles(request, { isStopped: () => false, onProgress: () => {} }, parser);
    const expected = EXAMPLES.flatMap(({ file, text }) =>
      text.split('\n').flatMap((line, at) => {
        const said =
          file.endsWith('.json') && at === 0 ? IN_JSON : / (?:\/\/|--) ([\w, -]+)$/.exec(line)?.[1];
        return (said?.split(', ') ?? []).map((rule) => `${file}:${at + 1} ${rule}`);
      }),
    );
    expect(findings.map(({ file, line, rule }) => `${file}:${line} ${rule}`).sort()).toEqual(expected.sort());
    expect(new Set(findings.map(({ rule }) => rule))).toEqual(new Set(RULE_IDS));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
