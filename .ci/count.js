// `node .ci/count.js STATUS REPORT …` adds up vitest's JSON reports and prints `N passed, N failed` as its last line.
// Exits with non-zero unless STATUS, that of the commands that wrote the reports, is 0 and everything passed.
// Skipped tests are named and count as neither.
import { existsSync, readFileSync } from 'node:fs';

const [status, ...files] = process.argv.slice(2);
const missing = files.filter((file) => !existsSync(file));
const reports = files
  .filter((file) => existsSync(file))
  .map((file) => JSON.parse(readFileSync(file, 'utf8')));
const results = reports.flatMap((report) => report.testResults);
const tests = results.flatMap((result) => result.assertionResults);

// A file that cannot be loaded has no tests to fail.
const broken = results.filter(
  (result) => result.status === 'failed' && !result.assertionResults.some((test) => test.status === 'failed'),
);
const passed = tests.filter((test) => test.status === 'passed').length;
const skipped = tests.filter((test) => test.status !== 'passed' && test.status !== 'failed');
let failed = tests.length - passed - skipped.length + broken.length + missing.length;

for (const test of skipped) process.stdout.write(`SKIPPED, not run here: ${test.fullName}\n`);
for (const result of broken) process.stdout.write(`FAILED, could not run: ${result.name}\n`);
for (const file of missing) process.stdout.write(`FAILED: there is no report ${file}\n`);
if (failed === 0 && (status !== '0' || passed === 0)) {
  process.stdout.write(`FAILED: the commands ended with ${status} for another reason than a test\n`);
  failed = 1;
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
