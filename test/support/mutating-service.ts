import { parseConfigValue } from '../../src/config/load-config.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/start-sandbox.js';
import type { TruthRow } from '../../src/sandbox/truth.js';
import type { Db } from '../../src/store/open.js';
import { createSmallJob, createVirtualTime, START_MS } from './small-job.js';

/** What became of one service that changed while it was paged. */
export interface MutationResult {
  /** Rows of the truth that nothing touched; the remap must say just the same. */
  readonly stable: number;
  /** Rows that arrived, changed or went meanwhile, and how many of them the remap has as they are now. */
  readonly touched: number;
  readonly current: number;
  /** What is wrong, worded for a failing test. */
  readonly wrong: readonly string[];
}

const MODELS = [
  'accounting/invoices',
  'accounting/bill_credit_notes',
  'crm/companies',
  'crm/stages',
  'payments/items',
];
/** How far time moves whenever somebody looks at the clock: a walk takes longer than a sweep reaches back. */
const TICK_MS = 20_000;

/** The client's clock is right, or two hours fast or slow. */
const CLIENT_OFF_MS = [0, 7_200_000, -7_200_000];

/** The results of so many seeds, added up; `wrong` names the seed. */
export async function migrateSeeds(first: number, count: number): Promise<MutationResult> {
  const total = { stable: 0, touched: 0, current: 0 };
  const wrong: string[] = [];
  for (let seed = first; seed < first + count; seed += 1) {
    const result = await migrateWhileMutating(seed);
    total.stable += result.stable;
    total.touched += result.touched;
    total.current += result.current;
    wrong.push(...result.wrong.slice(0, 3).map((text) => `seed ${seed}: ${text}`));
  }
  process.stdout.write(
    `${count} seeds, ${total.stable} stable rows, ${total.touched} touched while paging (${total.current} of them as they ended), ${wrong.length} wrong\n`,
  );
  return { ...total, wrong };
}

/** Exports a service that changes at most requests, remaps and compares with the truth at the end. */
async function migrateWhileMutating(seed: number): Promise<MutationResult> {
  const time = createVirtualTime(undefined, TICK_MS);
  const sandbox = await startSandbox({
    seed,
    scenario: seed % 2 === 0 ? 'clean' : 'ugly',
    scale: 60,
    companies: 2,
    now: START_MS - 1000,
    clock: time.clock.now,
    faults: [
      { name: 'mutate', rate: 0.8 },
      { name: 'duplicate-pages', rate: 0.05 },
    ],
  });
  const job = createSmallJob((database) => configFor(sandbox, database), sandbox.apiKey);
  try {
    const offMs = CLIENT_OFF_MS[seed % CLIENT_OFF_MS.length] ?? 0;
    const { error } = await job.exportBoth({ ...time, clock: { now: () => time.clock.now() + offMs } });
    if (error !== null) throw error;
    job.remap();
    return job.look((db) => compareWithTruth(db, sandbox.truth()));
  } finally {
    job.close();
    await sandbox.close();
  }
}

function configFor(sandbox: Sandbox, database: string) {
  const value = JSON.parse(JSON.stringify(sandbox.config())) as {
    v3: object;
    v4: object;
    models: { v3: string }[];
  };
  const speed = { pageSize: 4, concurrency: 2, requestsPerSecond: 10_000 };
  return parseConfigValue(
    {
      ...value,
      database,
      v3: { ...value.v3, ...speed },
      v4: { ...value.v4, ...speed, pageSize: 50 },
      models: value.models.filter(({ v3 }) => MODELS.includes(v3)),
    },
    `${database}.json`,
    START_MS,
  );
}

type Cells = Readonly<Record<string, string | bigint | null>>;

function compareWithTruth(db: Db, truth: Iterable<TruthRow>): MutationResult {
  const rows = [...truth].filter(({ model }) => MODELS.includes(model));
  const stable = new Set(rows.filter((row) => row.stable).map(lineOf));
  const touched = new Set(rows.filter((row) => !row.stable).map(lineOf));
  const pairs = new Set(rows.map(pairOf));
  const touchedIds = new Set(rows.filter((row) => !row.stable).flatMap(idsOf));
  const wrong: string[] = [];
  const found = new Set<string>();
  let current = 0;
  for (const row of db.prepare<[], Cells>('SELECT * FROM remap').iterate()) {
    const line = lineOf(row);
    found.add(line);
    if (touched.has(line)) current += 1;
    if (row['v3_svc_id'] !== null && row['v4_svc_id'] !== null && !pairs.has(pairOf(row))) {
      wrong.push(`a wrong mapping: ${line}`);
    } else if (!stable.has(line) && !idsOf(row).some((id) => touchedIds.has(id))) {
      wrong.push(`not true: ${line}`);
    }
  }
  for (const line of stable) if (!found.has(line)) wrong.push(`missing: ${line}`);
  return { stable: stable.size, touched: touched.size, current, wrong };
}

function lineOf(row: Cells | TruthRow): string {
  const { model, path, region, v3_company_id, platform_id, v3_svc_id, v4_svc_id, status, reason } = row;
  return [model, path, region, v3_company_id, platform_id, v3_svc_id, v4_svc_id, status, reason]
    .map((cell) => (cell === null ? '-' : String(cell)))
    .join(' | ');
}

function pairOf({ model, path, region, v3_svc_id, v4_svc_id }: Cells | TruthRow): string {
  return `${model} ${path} ${region} ${v3_svc_id} ${v4_svc_id}`;
}

function idsOf({ model, path, region, v3_svc_id, v4_svc_id }: Cells | TruthRow): string[] {
  return [
    ...(v3_svc_id === null ? [] : [`v3 ${model} ${path} ${region} ${v3_svc_id}`]),
    ...(v4_svc_id === null ? [] : [`v4 ${model} ${path} ${v4_svc_id}`]),
  ];
}
