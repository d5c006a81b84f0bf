import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reasonsOf, STATUSES } from '../../src/reasons.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/start-sandbox.js';
import type { TruthRow } from '../../src/sandbox/truth.js';
import { readCells, readRemapRows } from '../contract.js';
import { campaignSize } from '../support/campaign.js';
import { compareWithTruth, outcomeOf } from '../support/compare-truth.js';
import { contradictTruth, DECISIONS_HEADER, settleAmbiguous } from '../support/decide-by-truth.js';
import { keysOf, makeFolder, runCli } from '../support/run-cli.js';

/** `decided`: how many of the ugly ones are decided, too. */
const SEEDS = campaignSize({
  small: { clean: 1, ugly: 3, decided: 1 },
  full: { clean: 10, ugly: 40, decided: 10 },
  soak: { clean: 1000, ugly: 40, decided: 10 },
});
/** One row in so many of each outcome of the first ugly seed is explained. */
const STRIDE = campaignSize({ small: 60, full: 4 });

/** Need lists that were not read in full, which a healthy service does not have, or decisions. */
const NOT_HERE = new Set([
  'unmatched/scope_incomplete',
  'v4_only/scope_incomplete',
  'unmatched/decided_none',
  'v4_only/decided_none',
]);

interface Job {
  readonly sandbox: Sandbox;
  readonly cwd: string;
  run(...args: readonly string[]): ReturnType<typeof runCli>;
}

async function openJob(options: SandboxOptions): Promise<Job> {
  const sandbox = await startSandbox({ scale: 300, ...options });
  const cwd = makeFolder({ ...sandbox.config(), decisions: 'decisions.csv' });
  writeFileSync(join(cwd, 'decisions.csv'), `${DECISIONS_HEADER}\n`);
  const env = keysOf(sandbox.apiKey);
  return { sandbox, cwd, run: (...args) => runCli([...args, '--quiet'], { cwd, env }) };
}

it(`a run passes ${SEEDS.clean} clean seeds without a false alarm, every record and child as it truly is`, async () => {
  let rows = 0;
  for (let seed = 1; seed <= SEEDS.clean; seed += 1) {
    const { sandbox, cwd, run } = await openJob({ seed });
    const { code, stdout } = await run('run', '--json', '-');
    const { outcome, gate } = JSON.parse(stdout);
    const compared = compareWithTruth(readRemapRows(cwd), sandbox.truth());
    await sandbox.close();
    const over = gate.limits.filter(({ pass }: { pass: boolean }) => !pass);
    const differences = compared.differences.slice(0, 5);
    expect({ seed, code, outcome, over, differences }).toEqual({
      seed,
      code: 0,
      outcome: 'pass',
      over: [],
      differences: [],
    });
    rows += compared.rows;
  }
  process.stdout.write(`clean: ${SEEDS.clean} seeds, ${rows} rows, as they truly are, no false alarm\n`);
});

const total = { rows: 0, settled: 0, wrong: 0, explained: 0 };
const seen = new Set<string>();

describe.each(Array.from({ length: SEEDS.ugly }, (_, at) => at + 1))('a run of the ugly seed %i', (seed) => {
  let job: Job;
  let truth: readonly TruthRow[];
  let code: number;
  beforeAll(async () => {
    job = await openJob({ seed, scenario: 'ugly' });
    code = (await job.run('run')).code;
    truth = [...job.sandbox.truth()];
  });
  afterAll(() => job.sandbox.close());

  it('gives every record and child its true outcome, and is red', () => {
    const compared = compareWithTruth(readRemapRows(job.cwd), truth);
    total.rows += compared.rows;
    for (const outcome of compared.outcomes) seen.add(outcome);
    expect([code, compared.differences.slice(0, 5)]).toEqual([1, []]);
  });

  it('keeps exact totals: every record and child of V3 in one row, each of V4 in at least one', () => {
    const rows = readRemapRows(job.cwd);
    const of = (id: 'v3_svc_id' | 'v4_svc_id') => rows.filter((row) => row[id] !== null).length;
    const exported = (generation: string) =>
      Number(
        readCells<{ n: bigint }>(
          join(job.cwd, 'svc-migrate.db'),
          `select (select sum(unique_records) from stream where generation = '${generation}' and model <> 'core/companies') as n`,
        )[0]?.n,
      );
    const records = rows.filter(({ path }) => path === '');
    expect(records.filter((row) => row.v3_svc_id !== null)).toHaveLength(exported('v3'));
    const inV4 = new Set(
      records.flatMap(({ model, v4_company_id, v4_svc_id }) =>
        v4_svc_id === null ? [] : [`${model} ${v4_company_id} ${v4_svc_id}`],
      ),
    );
    expect(inV4.size).toBe(exported('v4'));
    expect([of('v3_svc_id') > 0, of('v4_svc_id') > 0]).toEqual([true, true]);
  });

  it.runIf(seed === 1)('explains every outcome, from either side', async () => {
    const outcomes = new Map<string, number>();
    const missing: string[] = [];
    for (const row of readRemapRows(job.cwd)) {
      const before = outcomes.get(outcomeOf(row)) ?? 0;
      outcomes.set(outcomeOf(row), before + 1);
      if (before % STRIDE !== 0) continue;
      for (const side of ['v3', 'v4'] as const) {
        const id = row[`${side}_svc_id`];
        if (id === null || BigInt(id) < 0n) continue;
        total.explained += 1;
        const model = row.path === '' ? String(row.model) : `${row.model}#${row.path}`;
        const region = String(row.region ?? 'eu');
        const ended = await job.run('explain', model, String(id), '--region', region, '--json', '-');
        const isShown = ended.code === 0 && ended.stdout.includes(`"${row.status}"`);
        if (!isShown) missing.push(`${ended.code} ${side} ${model} ${id} ${outcomeOf(row)} ${ended.stderr}`);
      }
    }
    expect(missing.slice(0, 5)).toEqual([]);
    expect(outcomes.size).toBeGreaterThan(30);
  });

  // Builds other remaps, and so comes last.
  it.runIf(seed <= SEEDS.decided)(
    'decides rows as they truly are and changes no others, and nothing for wrong decisions',
    async () => {
      const undecided = readRemapRows(job.cwd);
      const { lines, truth: decided, isConcerned } = settleAmbiguous(truth);
      expect(await decide(job, lines)).toBe(0);
      const rows = readRemapRows(job.cwd);
      const compared = compareWithTruth(
        rows.filter((row) => !isConcerned(row)),
        decided,
      );
      expect(compared.differences.slice(0, 5)).toEqual([]);
      const taken = rows.filter((row) => row.matched_by === 'decision' || row.reason === 'decided_none');
      expect(taken).toHaveLength(lines.length);

      const contradictions = contradictTruth(truth);
      expect(await decide(job, contradictions)).toBe(contradictions.length);
      expect(readRemapRows(job.cwd)).toEqual(undecided);
      total.settled += lines.length;
      total.wrong += contradictions.length;
    },
  );
});

/** Builds the remap with these decisions; returns how many the data do not support. */
async function decide({ cwd, run }: Job, lines: readonly string[]): Promise<number> {
  writeFileSync(join(cwd, 'decisions.csv'), [DECISIONS_HEADER, ...lines, ''].join('\n'));
  const remapped = await run('remap');
  expect([remapped.code, remapped.stderr]).toEqual([0, expect.anything()]);
  const { stdout } = await run('report', '--json', '-');
  const { gate } = JSON.parse(stdout);
  const stale = gate.limits.filter(({ name }: { name: string }) => name === 'decision_stale');
  return stale.reduce((sum: number, { actual }: { actual: number }) => sum + actual, 0);
}

it('the ugly seeds show every outcome of the contract, and decisions', () => {
  const { rows, settled, wrong, explained } = total;
  process.stdout.write(
    `ugly: ${SEEDS.ugly} seeds, ${rows} rows, ${seen.size} outcomes; ${settled} decisions taken, ` +
      `${wrong} wrong ones changed nothing; ${explained} ids explained\n`,
  );
  const all = STATUSES.flatMap((status) => reasonsOf(status).map((reason) => `${status}/${reason}`));
  expect(['matched', ...all].filter((outcome) => !seen.has(outcome) && !NOT_HERE.has(outcome))).toEqual([]);
  expect([settled > 5 * SEEDS.decided, wrong > 50 * SEEDS.decided]).toEqual([true, true]);
});
