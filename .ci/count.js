// Prints `N passed, N failed` of a vitest JSON report; exits with non-zero unless everything passed.
import { existsSync, readFileSync } from 'node:fs';

const [file, status] = process.argv.slice(2);
const report = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null;
// A file that cannot be loaded has no tests to fail.
const broken = (report?.testResults ?? []).filter(
  (one) => one.status === 'failed' && !one.assertionResults.some((test) => test.status === 'failed'),
).length;
const passed = report?.numPassedTests ?? 0;
let failed = (report?.numFailedTests ?? 0) + broken;
const skipped = (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0);
if (skipped > 0) process.stdout.write(`${skipped} skipped\n`);
if (failed === 0 && (status !== '0' || passed === 0)) {
  process.stdout.write(`npm ci or npm test ended with ${status} for another reason than a test\n`);
  failed = 1;
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
