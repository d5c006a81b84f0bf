import { buildReport } from '../../src/report/build-report.js';
import { startSandbox } from '../../src/sandbox/start-sandbox.js';
import { EVERYTHING } from '../../src/store/remap-rows.js';
import { compareWithTruth } from './compare-truth.js';
import { doWholeJob } from './whole-job.js';

/** As `doWholeJob` dates its reading. */
const NOW_MS = Date.parse('2026-11-20T00:00:00Z');
const REPORT_EVERY = 100;

export interface Judged {
  readonly rows: number;
  /** Seeds whose gate is not green, with what is over which limit. */
  readonly alarms: readonly string[];
  readonly differences: readonly string[];
}

/** Does the whole job against clean services; each must pass the gate and be as the truth has it. */
export async function judgeSeeds(
  first: number,
  count: number,
  tell: (line: string) => void = () => {},
): Promise<Judged> {
  let rows = 0;
  const alarms: string[] = [];
  const differences: string[] = [];
  for (let seed = first; seed < first + count; seed += 1) {
    const judged = await judgeSeed(seed);
    rows += judged.rows;
    alarms.push(...judged.alarms);
    differences.push(...judged.differences.slice(0, 5));
    const done = seed - first + 1;
    if (done % REPORT_EVERY === 0) tell(`${done} seeds, ${rows} rows, ${alarms.length} alarms\n`);
  }
  return { rows, alarms, differences };
}

async function judgeSeed(seed: number): Promise<Judged> {
  const sandbox = await startSandbox({ seed, scale: 300 });
  const job = await doWholeJob(sandbox);
  try {
    const { rows, differences } = compareWithTruth(job.db, sandbox.truth());
    const report = await buildReport(job.db, {
      config: job.config,
      scope: EVERYTHING,
      nowMs: NOW_MS,
      toolVersion: '0.0.0',
      pause: async () => {},
    });
    const over = report.gate.limits
      .filter(({ pass }) => !pass)
      .map(({ name, actual }) => `${name} ${actual}`);
    const alarms = report.outcome === 'pass' ? [] : [`seed ${seed}: ${report.outcome} ${over.join(', ')}`];
    return { rows, alarms, differences: differences.map((line) => `seed ${seed} ${line}`) };
  } finally {
    job.close();
    await sandbox.close();
  }
}
