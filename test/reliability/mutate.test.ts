import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/start-sandbox.js';
import type { TruthRow } from '../../src/sandbox/truth.js';
import { at } from '../../src/text/at.js';
import { readRemapRows } from '../contract.js';
import { campaignSize } from '../support/campaign.js';
import { makeFastFolder } from '../support/fast-folder.js';
import type { RemapCells } from '../support/remap-cells.js';
import { keysOf, runAnywhere } from '../support/run-cli.js';

/** The soak takes other seeds. */
const FIRST = campaignSize({ small: 1, soak: 1001 });
const SEEDS = campaignSize({ small: 2, full: 60, soak: 3000 });
const MODELS = [
  'accounting/invoices',
  'accounting/bill_credit_notes',
  'crm/companies',
  'crm/stages',
  'payments/items',
];
/** By how much the service's clock moves at each look: a walk takes longer than a sweep reaches back. */
const TICK_MS = 20_000;
/** The service's clock is right, or two hours fast or slow. */
const CLOCK_OFF_MS = [0, 7_200_000, -7_200_000];

/** How a service that changed while it was paged was mapped. */
interface Mapped {
  /** Rows of the truth that nothing touched; the remap must have them all. */
  readonly stable: number;
  /** Rows that arrived, changed or went meanwhile, and how many of them the remap has as they are now. */
  readonly touched: number;
  readonly current: number;
  readonly wrong: readonly string[];
}

it(`a service that changes while it is paged ends, for each of ${SEEDS} seeds, in the truth of all that was stable, and no mapping is wrong`, async () => {
  const limit = pLimit(4);
  const seeds = Array.from({ length: SEEDS }, (_, index) => FIRST + index);
  const results = await Promise.all(seeds.map((seed) => limit(migrateWhileMutating, seed)));
  const sum = (of: (mapped: Mapped) => number) => results.reduce((total, mapped) => total + of(mapped), 0);
  const [touched, current] = [sum((mapped) => mapped.touched), sum((mapped) => mapped.current)];
  const wrong = results.flatMap((mapped, index) =>
    mapped.wrong.slice(0, 3).map((text) => `seed ${at(seeds, index)}: ${text}`),
  );
  process.stdout.write(
    `${SEEDS} seeds, ${sum(({ stable }) => stable)} stable rows, ${touched} touched while paging (${current} of them as they ended), ${wrong.length} wrong\n`,
  );
  expect(wrong).toEqual([]);
  expect(touched).toBeGreaterThan(10 * SEEDS);
  // Changes behind the last sweep of a list are left to the next run; without sweeps one in ten would be.
  expect(current / touched).toBeGreaterThan(0.97);
});

async function migrateWhileMutating(seed: number): Promise<Mapped> {
  let nowMs = Date.now() + at(CLOCK_OFF_MS, seed % CLOCK_OFF_MS.length);
  const sandbox = await startSandbox({
    seed,
    scenario: seed % 2 === 0 ? 'clean' : 'ugly',
    scale: 60,
    companies: 2,
    now: nowMs - 1000,
    clock: () => {
      nowMs += TICK_MS;
      return nowMs;
    },
    faults: [
      { name: 'mutate', rate: 0.8 },
      { name: 'duplicate-pages', rate: 0.05 },
    ],
  });
  const folder = makeFastFolder();
  const config = join(folder, 'config.json');
  mkdirSync(folder, { recursive: true });
  const value = JSON.parse(JSON.stringify(sandbox.config())) as {
    v3: object;
    v4: object;
    models: { v3: string }[];
  };
  const speed = { pageSize: 4, concurrency: 2, requestsPerSecond: 10_000 };
  writeFileSync(
    config,
    JSON.stringify({
      ...value,
      database: join(folder, 'svc-migrate.db'),
      v3: { ...value.v3, ...speed },
      v4: { ...value.v4, ...speed, pageSize: 50 },
      models: value.models.filter(({ v3 }) => MODELS.includes(v3)),
    }),
  );
  try {
    const ended = await runAnywhere(['run', '--quiet', '--config', config], { env: keysOf(sandbox.apiKey) });
    const compared = compare(readRemapRows(folder), [...sandbox.truth()]);
    const wrong = [0, 1].includes(ended.code) ? [] : [`exit ${ended.code}: ${ended.stderr}`];
    return { ...compared, wrong: [...wrong, ...compared.wrong] };
  } finally {
    await sandbox.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function compare(remap: readonly RemapCells[], all: readonly TruthRow[]): Mapped {
  const truth = all.filter(({ model }) => MODELS.includes(model));
  const touchedRows = truth.filter((row) => !row.stable);
  const stable = new Set(truth.filter((row) => row.stable).map(lineOf));
  const touched = new Set(touchedRows.map(lineOf));
  const pairs = new Set(truth.map(pairOf));
  const touchedIds = new Set(touchedRows.flatMap(idsOf));
  const lines = new Set(remap.map(lineOf));
  const wrong = remap.flatMap((row) => {
    if (row.v3_svc_id !== null && row.v4_svc_id !== null && !pairs.has(pairOf(row)))
      return [`a wrong mapping: ${lineOf(row)}`];
    if (stable.has(lineOf(row)) || idsOf(row).some((id) => touchedIds.has(id))) return [];
    return [`not true: ${lineOf(row)}`];
  });
  const missing = [...stable].filter((line) => !lines.has(line)).map((line) => `missing: ${line}`);
  const current = [...touched].filter((line) => lines.has(line)).length;
  return { stable: stable.size, touched: touched.size, current, wrong: [...wrong, ...missing] };
}

type Row = RemapCells | TruthRow;

function lineOf(row: Row): string {
  const { model, path, region, v3_company_id, platform_id, v3_svc_id, v4_svc_id, status, reason } = row;
  return [model, path, region, v3_company_id, platform_id, v3_svc_id, v4_svc_id, status, reason]
    .map((cell) => (cell === null ? '-' : String(cell)))
    .join(' | ');
}

function pairOf({ model, path, region, v3_svc_id, v4_svc_id }: Row): string {
  return `${model} ${path} ${region} ${v3_svc_id} ${v4_svc_id}`;
}

function idsOf({ model, path, region, v3_svc_id, v4_svc_id }: Row): string[] {
  return [
    ...(v3_svc_id === null ? [] : [`v3 ${model} ${path} ${region} ${v3_svc_id}`]),
    ...(v4_svc_id === null ? [] : [`v4 ${model} ${path} ${v4_svc_id}`]),
  ];
}
