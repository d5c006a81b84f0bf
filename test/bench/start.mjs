import { CLI, interleave, measure, medianOf, print, printBar } from './processes.mjs';

/** Start-up against Node's own. */
export async function benchStart() {
  print('\nStart-up, seconds');
  const results = await interleave(7, [
    ['node -e 0', () => measure(['-e', '0'])],
    ['svc-migrate --version', () => measure([CLI, '--version'])],
  ]);
  for (const [name, runs] of results) {
    print(
      `    ${name.padEnd(22)} ${medianOf(runs, 'seconds').toFixed(3)}  (${medianOf(runs, 'cpuSeconds').toFixed(3)} CPU)`,
    );
  }
  const times = (of) =>
    medianOf(results.get('svc-migrate --version'), of) / medianOf(results.get('node -e 0'), of);
  printBar('× node -e 0', times('seconds'), -2);
}
