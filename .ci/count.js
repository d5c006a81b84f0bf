// `node .ci/count.js STATUS REPORT …` adds up vitest's JSON reports and prints `N passed, N failed` as its last line.
// Exits with non-zero unless STATUS, that of the commands that wrote the reports, is 0 and everything passed.
// Skipped tests count as neither; those that no report ran are named. Failed tests are named last, with their messages;
// then TOOK, how long the steps took.
import { existsSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';

const print = (...lines) => process.stdout.write(`${lines.join('\n')}\n`);

const [status, ...files] = process.argv.slice(2);
const missing = files.filter((file) => !existsSync(file));
const results = files.filter((file) => existsSync(file)).flatMap(readResults);
const tests = results.flatMap((result) => result.assertionResults);

const hasRun = ({ status }) => status === 'passed' || status === 'failed';
const passed = tests.filter((test) => test.status === 'passed').length;
const ran = new Set(tests.filter(hasRun).map((test) => test.fullName));
const neverRun = new Set(tests.map((test) => test.fullName).filter((name) => !ran.has(name)));
for (const name of neverRun) print(`SKIPPED, not run here: ${name}`);
let failed = missing.length;
for (const result of results) failed += nameFailed(result);
for (const file of missing) print(`FAILED: there is no report ${file}`);
if (failed === 0 && (status !== '0' || passed === 0)) {
  print(`FAILED: the commands ended with ${status} for another reason than a test`);
  failed = 1;
}
if (process.env.TOOK !== undefined) print(process.env.TOOK);
print(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function readResults(file) {
  const { testResults } = JSON.parse(readFileSync(file, 'utf8'));
  return testResults.map((result) => ({ ...result, report: basename(file) }));
}

/** Returns how many tests of a file failed. One that cannot be loaded has no tests to fail: it counts as one. */
function nameFailed({ report, name, status, message, assertionResults }) {
  const where = `FAILED in ${report}, ${name.replace(/^.*?\/test\//, 'test/')}`;
  const tests = assertionResults.filter((test) => test.status === 'failed');
  for (const test of tests)
    print(`${where}: ${test.fullName}`, test.failureMessages.join('\n').slice(0, 1000));
  if (tests.length > 0 || status !== 'failed') return tests.length;
  print(`${where}: could not run`, String(message).slice(0, 1000));
  return 1;
}
