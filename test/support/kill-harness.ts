import type { ChildProcess } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Draw } from '../../src/sandbox/seeded-random.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/start-sandbox.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { readCells, readRemapRows } from '../contract.js';
import { campaignSize } from './campaign.js';
import { makeFastFolder } from './fast-folder.js';
import { type Exchange, type FaultServer, send, startFaultServer } from './fault-server.js';
import { recordSandbox } from './recordings.js';
import { keysOf, runCli } from './run-cli.js';
import { spawnCli } from './spawn-cli.js';

const DATABASE = 'svc-migrate.db';
const REPORT = 'report.json';
/** The exit code of a process that was killed with SIGKILL. */
const KILLED = 137;
const MODELS = ['accounting/bill_credit_notes', 'ecommerce/orders'].slice(
  0,
  campaignSize({ small: 1, full: 2 }),
);

/** The service that is exported, and the contents of the database after an undisturbed job. */
export interface KillScene {
  /** Requests of one whole job. */
  readonly requests: number;
  readonly truth: string;
  startJob(): Promise<KillJob>;
  close(): Promise<void>;
}

/** When a process is killed. */
export type Moment =
  /** As its request with this number, from 1, arrives, or later; answers take `answerMs`. */
  | {
      readonly kind: 'request';
      readonly number: number;
      readonly laterMs: number;
      readonly answerMs?: number;
    }
  /** So long after it was started. */
  | { readonly kind: 'running'; readonly laterMs: number };

/** One database that a series of processes works on. */
export interface KillJob {
  readonly tally: Tally;
  /** Runs a command; returns whether it was killed before it ended. */
  kill(args: readonly string[], moment: Moment): Promise<boolean>;
  /** Runs a command to its end, in this process. @throws Error if it fails */
  finish(args: readonly string[]): Promise<void>;
  /** The rows of the remap, and the states of the lists. */
  contents(): string;
  close(): Promise<void>;
}

export interface Tally {
  kills: number;
  /** Kills that left changes in a journal. */
  leftUnfinished: number;
  /** Kills of processes that had found such changes. */
  whileRecovering: number;
}

export async function openKillScene(seed: number): Promise<KillScene> {
  const sandbox = await startSandbox({ seed, scale: 90, companies: 1 });
  const undisturbed = await startJob(sandbox);
  await undisturbed.finish(['run', '--json', REPORT]);
  const scene = {
    requests: undisturbed.server.log.length,
    truth: undisturbed.contents(),
    startJob: () => startJob(sandbox),
    close: () => sandbox.close(),
  };
  await undisturbed.close();
  return scene;
}

async function startJob(sandbox: Sandbox): Promise<KillJob & { readonly server: FaultServer }> {
  const server = await startFaultServer({ recordings: recordSandbox(sandbox) });
  const folder = makeFastFolder();
  writeFileSync(join(folder, 'svc-migrate.config.json'), JSON.stringify(configFor(sandbox, server)));
  const tally: Tally = { kills: 0, leftUnfinished: 0, whileRecovering: 0 };
  const at = { cwd: folder, env: keysOf(sandbox.apiKey) };
  return {
    tally,
    server,
    kill: async (args, moment) => {
      const recovers = isUnfinished(folder);
      let endWatch = (): void => {};
      const onStart = (child: ChildProcess): void => {
        endWatch = killAt(moment, child, server);
      };
      const { code, stderr } = await spawnCli([...args, '--quiet'], { ...at, onStart });
      endWatch();
      if (![0, 4, KILLED].includes(code)) throw new Error(`exit ${code}: ${stderr}`);
      if (code !== KILLED) return false;
      tally.kills += 1;
      if (recovers) tally.whileRecovering += 1;
      if (isUnfinished(folder)) tally.leftUnfinished += 1;
      assertSound(folder);
      return true;
    },
    finish: async (args) => {
      const { code, stderr } = await runCli(args, at);
      if (code !== 0) throw new Error(`exit ${code}: ${stderr}`);
    },
    contents: () => contentsOf(folder),
    close: async () => {
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function configFor(sandbox: Sandbox, server: FaultServer): object {
  const text = JSON.stringify(sandbox.config()).replaceAll(sandbox.v4, server.origin);
  const value = JSON.parse(text) as { v3: object; v4: object; models: { v3: string }[] };
  // One list after the other, in small pages.
  const speed = { pageSize: campaignSize({ small: 4, full: 3 }), concurrency: 1, requestsPerSecond: 10_000 };
  return {
    ...value,
    v3: { ...value.v3, ...speed },
    v4: { ...value.v4, ...speed },
    models: value.models.filter(({ v3 }) => MODELS.includes(v3)),
  };
}

/** Kills the process at the moment; returns a function that ends the watch. */
function killAt(moment: Moment, child: ChildProcess, server: FaultServer): () => void {
  let timer: NodeJS.Timeout | undefined;
  const strike = (): void => {
    if (moment.laterMs === 0) child.kill('SIGKILL');
    else timer = setTimeout(() => child.kill('SIGKILL'), moment.laterMs);
  };
  if (moment.kind === 'running') strike();
  else {
    let number = 0;
    const { answerMs = 0 } = moment;
    const answerSlowly = async ({ response, answer }: Exchange): Promise<void> => {
      await sleep(answerMs);
      send(response, answer);
    };
    server.script = () => {
      number += 1;
      if (number === moment.number) strike();
      return answerMs === 0 ? null : { strike: answerSlowly, strikes: { left: 1 } };
    };
  }
  return () => {
    clearTimeout(timer);
    server.script = () => null;
  };
}

/** What SQLite keeps beside a database until it is in it. */
const JOURNALS = ['-journal', '-wal'];

function isUnfinished(folder: string): boolean {
  return JOURNALS.some(
    (suffix) => (statSync(join(folder, DATABASE + suffix), { throwIfNoEntry: false })?.size ?? 0) > 0,
  );
}

/** On a copy, so that the next process recovers what the killed one left. */
function assertSound(folder: string): void {
  const report = join(folder, REPORT);
  if (existsSync(report)) JSON.parse(readFileSync(report, 'utf8'));
  const database = join(folder, DATABASE);
  if (!existsSync(database)) return;
  const copy = join(folder, 'copy.db');
  copyFileSync(database, copy);
  for (const suffix of JOURNALS) {
    rmSync(`${copy}${suffix}`, { force: true });
    if (existsSync(`${database}${suffix}`)) copyFileSync(`${database}${suffix}`, `${copy}${suffix}`);
  }
  const db = new Sqlite(copy);
  const found = db.pragma('integrity_check', { simple: true });
  db.close();
  if (found !== 'ok') throw new Error(`integrity_check: ${String(found)}`);
}

function contentsOf(folder: string): string {
  const contents = {
    remap: readRemapRows(folder),
    streams: readCells(
      join(folder, DATABASE),
      'select generation, model, company_id, state, unique_records, rejected from stream order by 1, 2, 3',
    ),
  };
  return JSON.stringify(contents, (_, value) => (typeof value === 'bigint' ? String(value) : value));
}

/** Kills jobs at seeded random moments until that many kills are done. */
export async function killUntil(
  scene: KillScene,
  kills: number,
  firstSeed: number,
): Promise<Tally & { readonly jobs: number }> {
  const total = { jobs: 0, kills: 0, leftUnfinished: 0, whileRecovering: 0 };
  for (let seed = firstSeed; total.kills < kills; seed += 1) {
    const tally = await killAtRandom(scene, seed, Math.min(8, kills));
    total.jobs += 1;
    total.kills += tally.kills;
    total.leftUnfinished += tally.leftUnfinished;
    total.whileRecovering += tally.whileRecovering;
  }
  return total;
}

/** Kills one job at seeded random moments of export, remap and report, until it is done. */
async function killAtRandom(scene: KillScene, seed: number, turns: number): Promise<Tally> {
  const draw = new Draw(seed);
  const job = await scene.startJob();
  try {
    while (await job.kill(['run'], exportMoment(draw)));
    for (let turn = 0; turn < turns; turn += 1) {
      const [command, laterMs] =
        turn % 2 === 0
          ? (['remap', 120 + draw.below(200)] as const)
          : (['report', 100 + draw.below(250)] as const);
      await job.kill(command === 'remap' ? ['remap'] : ['report', '--json', REPORT], {
        kind: 'running',
        laterMs,
      });
    }
    await job.finish(['run', '--json', REPORT]);
    if (job.contents() !== scene.truth) throw new Error(`seed ${seed}: another remap`);
    return job.tally;
  } finally {
    await job.close();
  }
}

/** Often while a page is saved, sometimes at the start, when a half-done transaction is rolled back. */
function exportMoment(draw: Draw): Moment {
  if (draw.chance(0.3)) return { kind: 'running', laterMs: 60 + draw.below(300) };
  return { kind: 'request', number: 1 + draw.below(8), laterMs: draw.below(8) };
}
