// `node .ci/count.js STATUS REPORT …` adds up vitest's JSON reports and prints `N passed, N failed` as its last line.
// Exits with non-zero unless STATUS, that of the commands that wrote the reports, is 0 and everything passed.
// Skipped tests count as neither; those that no report ran are named. Failed ones are named last, with what they said.
import { existsSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';

const [status, ...files] = process.argv.slice(2);
const missing = files.filter((file) => !existsSync(file));
const results = files.filter((file) => existsSync(file)).flatMap(readResults);
const tests = results.flatMap((result) => result.assertionResults);

// A file that cannot be loaded has no tests to fail.
const broken = results.filter(
  (result) => result.status === 'failed' && !result.assertionResults.some((test) => test.status === 'failed'),
);
const passed = tests.filter((test) => test.status === 'passed').length;
const ran = new Set(
  tests.filter((test) => test.status === 'passed' || test.status === 'failed').map((test) => test.fullName),
);
const skipped = tests.filter((test) => test.status !== 'passed' && test.status !== 'failed');
let failed = tests.length - passed - skipped.length + broken.length + missing.length;

const neverRun = new Set(skipped.map((test) => test.fullName).filter((name) => !ran.has(name)));
for (const name of neverRun) process.stdout.write(`SKIPPED, not run here: ${name}\n`);
for (const result of results) {
  for (const test of result.assertionResults.filter((one) => one.status === 'failed')) {
    const said = test.failureMessages.join('\n').slice(0, 1000);
    process.stdout.write(
      `FAILED in ${result.report}, ${result.name.replace(/^.*?\/test\//, 'test/')}: ${test.fullName}\n${said}\n`,
    );
  }
}
for (const result of broken) {
  process.stdout.write(
    `FAILED in ${result.report}, could not run: ${result.name}\n${String(result.message).slice(0, 1000)}\n`,
  );
}
for (const file of missing) process.stdout.write(`FAILED: there is no report ${file}\n`);
if (failed === 0 && (status !== '0' || passed === 0)) {
  process.stdout.write(`FAILED: the commands ended with ${status} for another reason than a test\n`);
  failed = 1;
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;

function readResults(file) {
  const { testResults } = JSON.parse(readFileSync(file, 'utf8'));
  return testResults.map((result) => ({ ...result, report: basename(file) }));
}
