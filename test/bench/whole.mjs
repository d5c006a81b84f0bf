import { join } from 'node:path';
import { KEYS, writeConfig } from './export.mjs';
import {
  CLI,
  here,
  inFolder,
  interleave,
  measure,
  median,
  medianOf,
  print,
  printBar,
  withService,
} from './processes.mjs';

const [LISTS, PAGE_SIZE] = [4, 1000];
const SETTINGS = { lists: LISTS, pageSize: PAGE_SIZE, lineItems: 3, latencyMs: 0 };

/** From nothing to the report: both exports, the remap and the report, against a plain script without a report. */
export async function benchWhole({ records, rounds }) {
  print(`\nThe whole job for ${records} × ${records} bill credit notes with three line items, payload full`);
  await withService({ ...SETTINGS, records }, async ({ port }) => {
    const v4 = `http://127.0.0.1:${port}`;
    const results = await interleave(rounds, [
      ['svc-migrate', () => inFolder((folder) => runStages(folder, `${v4}/v3`))],
      ['plain script', () => inFolder((folder) => runScript(folder, `${v4}/v3`, v4))],
    ]);
    printTimes(results);
    const [own, script] = [results.get('svc-migrate'), results.get('plain script')];
    const ratio = (name) => median(own.map((one, at) => one[name] / script[at][name]));
    printBar('× the script', ratio('seconds'), records >= 1_000_000 ? -0.5 : -0.6);
    printBar('× the CPU time of the script', ratio('cpuSeconds'), -0.7);
    printBar('peak', Math.max(...own.map(({ peakMiB }) => peakMiB)), -256, ' MiB');
    printBar('report', median(own.map(({ stages }) => stages.report.seconds)), (-5 * records) / 1e6, ' s');
  });
}

async function runStages(folder, base) {
  const config = writeConfig(folder, { base, lists: LISTS, pageSize: PAGE_SIZE });
  const stages = {};
  for (const [name, ...args] of [
    ['export v3', 'export', 'v3'],
    ['export v4', 'export', 'v4'],
    ['remap', 'remap'],
    ['report', 'report', '--json', join(folder, 'report.json')],
  ])
    stages[name] = await measure([CLI, ...args, '--config', config, '--quiet'], { env: KEYS });
  return { stages, ...sumUp(Object.values(stages)) };
}

const sumUp = (stages) => ({
  seconds: stages.reduce((sum, { seconds }) => sum + seconds, 0),
  cpuSeconds: stages.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
  peakMiB: Math.max(...stages.map(({ peakMiB }) => peakMiB)),
});

function runScript(folder, v3, v4) {
  return measure([
    here('plain-script.mjs'),
    join(folder, 'plain.db'),
    String(LISTS),
    String(PAGE_SIZE),
    v3,
    v4,
  ]);
}

function printTimes(results) {
  print('                         seconds  (CPU)    peak');
  const printOne = (name, runs) =>
    print(
      `    ${name.padEnd(20)} ${medianOf(runs, 'seconds').toFixed(2).padStart(7)}  (${medianOf(runs, 'cpuSeconds').toFixed(2)})  ${medianOf(runs, 'peakMiB').toFixed(0)} MiB`,
    );
  for (const [who, runs] of results) {
    printOne(who, runs);
    for (const stage of Object.keys(runs[0].stages ?? {}))
      printOne(
        `  ${stage}`,
        runs.map(({ stages }) => stages[stage]),
      );
  }
}
