import type { ChildProcess } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Draw } from '../../src/sandbox/seeded-random.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/start-sandbox.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { keysOf } from '../cli/run-cli.js';
import { spawnCli } from '../cli/spawn-cli.js';
import { campaign } from './campaign.js';
import { makeFastFolder } from './fast-folder.js';
import { type Exchange, type FaultServer, send, startFaultServer } from './fault-server.js';
import { recordSandbox } from './recordings.js';

const CONFIG = 'svc-migrate.config.json';
const REPORT = 'report.json';
/** The exit code of a process that was killed with SIGKILL. */
const KILLED = 137;
/** Up to so many kills one short job at a time is enough. */
const KILLS_OF_A_JOB = 20;
const MODELS = ['accounting/bill_credit_notes', 'ecommerce/orders'].slice(0, campaign({ small: 1, full: 2 }));

/** The service that is exported, and what an undisturbed job makes of it. */
export interface KillScene {
  /** Requests of one whole job. */
  readonly requests: number;
  readonly truth: string;
  startJob(): Promise<KillJob>;
  close(): Promise<void>;
}

/** When a process is killed. */
export type Moment =
  /** As soon as its request with this number, from 1, arrives, or so much later; answers take `answerMs`. */
  | {
      readonly kind: 'request';
      readonly number: number;
      readonly laterMs: number;
      readonly answerMs?: number;
    }
  /** So long after it has taken the database. */
  | { readonly kind: 'holding'; readonly laterMs: number }
  /** So long after it was started. */
  | { readonly kind: 'running'; readonly laterMs: number };

/** One database that a series of processes works on. */
export interface KillJob {
  readonly tally: Tally;
  /** Runs a command; true where it was killed before it ended by itself. */
  kill(args: readonly string[], moment: Moment): Promise<boolean>;
  /** Runs a command to its end, which must be a success. */
  finish(args: readonly string[]): Promise<void>;
  /** Everything the remap holds, its digest, and the states of the lists. */
  contents(): string;
  close(): Promise<void>;
}

export interface Tally {
  kills: number;
  /** Kills that left changes beside the database. */
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
  writeFileSync(join(folder, CONFIG), JSON.stringify(configFor(sandbox, server)));
  const database = join(folder, 'svc-migrate.db');
  const tally: Tally = { kills: 0, leftUnfinished: 0, whileRecovering: 0 };
  const at = { cwd: folder, env: keysOf(sandbox.apiKey) };
  return {
    tally,
    server,
    kill: async (args, moment) => {
      const recovers = isHalfDone(database);
      let endWatch = (): void => {};
      const onStart = (child: ChildProcess): void => {
        endWatch = killAt(moment, child, server, database);
      };
      const { code, stderr } = await spawnCli([...args, '--quiet'], { ...at, onStart });
      endWatch();
      if (![0, 4, KILLED].includes(code)) throw new Error(`exit ${code}: ${stderr}`);
      if (code !== KILLED) return false;
      tally.kills += 1;
      if (recovers) tally.whileRecovering += 1;
      if (isHalfDone(database)) tally.leftUnfinished += 1;
      assertSound(folder, database);
      return true;
    },
    finish: async (args) => {
      const { code, stderr } = await spawnCli(args, at);
      if (code !== 0) throw new Error(`exit ${code}: ${stderr}`);
    },
    contents: () => contentsOf(database),
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
  const speed = { pageSize: campaign({ small: 4, full: 3 }), concurrency: 1, requestsPerSecond: 10_000 };
  return {
    ...value,
    v3: { ...value.v3, ...speed },
    v4: { ...value.v4, ...speed },
    models: value.models.filter(({ v3 }) => MODELS.includes(v3)),
  };
}

/** Kills the process at the moment; returns what ends the watch. */
function killAt(moment: Moment, child: ChildProcess, server: FaultServer, database: string): () => void {
  const timers: NodeJS.Timeout[] = [];
  const strike = (): void => {
    if (moment.laterMs === 0) child.kill('SIGKILL');
    else timers.push(setTimeout(() => child.kill('SIGKILL'), moment.laterMs));
  };
  if (moment.kind === 'running') strike();
  if (moment.kind === 'holding') timers.push(whenThere(`${database}.lock`, strike));
  if (moment.kind === 'request') {
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
    for (const timer of timers) clearInterval(timer);
    server.script = () => null;
  };
}

/** The note of a process that was killed is taken away first, so that only a new one counts. */
function whenThere(file: string, work: () => void): NodeJS.Timeout {
  rmSync(file, { force: true });
  const timer = setInterval(() => {
    if (!existsSync(file)) return;
    clearInterval(timer);
    work();
  }, 1);
  return timer;
}

/** What SQLite keeps beside a database until it is in it. */
const UNFINISHED = ['-journal', '-wal'];

function isHalfDone(database: string): boolean {
  return UNFINISHED.some(
    (suffix) => (statSync(`${database}${suffix}`, { throwIfNoEntry: false })?.size ?? 0) > 0,
  );
}

/** On a copy, so that the next process finds what the killed one left. */
function assertSound(folder: string, database: string): void {
  const report = join(folder, REPORT);
  if (existsSync(report)) JSON.parse(readFileSync(report, 'utf8'));
  if (!existsSync(database)) return;
  const copy = join(folder, 'copy.db');
  copyFileSync(database, copy);
  for (const suffix of UNFINISHED) {
    rmSync(`${copy}${suffix}`, { force: true });
    if (existsSync(`${database}${suffix}`)) copyFileSync(`${database}${suffix}`, `${copy}${suffix}`);
  }
  const db = new Sqlite(copy);
  const found = db.pragma('integrity_check', { simple: true });
  db.close();
  if (found !== 'ok') throw new Error(`integrity_check: ${String(found)}`);
}

function contentsOf(database: string): string {
  const db = new Sqlite(database, { readonly: true });
  db.defaultSafeIntegers(true);
  const all = (sql: string): unknown[] => db.prepare(sql).raw().all();
  const contents = {
    sound: db.pragma('integrity_check', { simple: true }),
    digest: all('SELECT sha256 FROM remap_run ORDER BY id DESC LIMIT 1'),
    remap: all('SELECT * FROM remap_entry ORDER BY id'),
    streams: all(
      'SELECT generation, model, company_id, state, unique_records, rejected FROM stream ORDER BY 1, 2, 3',
    ),
    cursors: all('SELECT count(*) FROM cursor_seen'),
  };
  db.close();
  return JSON.stringify(contents, (_, value) => (typeof value === 'bigint' ? String(value) : value));
}

/** Two jobs at a time (one where one will do), killed at seeded random moments until that many kills are done. */
export async function killUntil(
  scene: KillScene,
  kills: number,
  firstSeed: number,
): Promise<Tally & { readonly jobs: number }> {
  const total = { jobs: 0, kills: 0, leftUnfinished: 0, whileRecovering: 0 };
  let seed = firstSeed;
  const isOneEnough = kills <= KILLS_OF_A_JOB;
  const turns = isOneEnough ? { remap: 2, report: 1 } : { remap: 14, report: 8 };
  while (total.kills < kills) {
    const seeds = isOneEnough ? [seed] : [seed, seed + 1];
    seed += seeds.length;
    for (const tally of await Promise.all(seeds.map((one) => killAtRandom(scene, one, turns)))) {
      total.jobs += 1;
      total.kills += tally.kills;
      total.leftUnfinished += tally.leftUnfinished;
      total.whileRecovering += tally.whileRecovering;
    }
  }
  return total;
}

/** Kills one job at seeded random moments of export, remap and report, again and again, until it is done. */
async function killAtRandom(
  scene: KillScene,
  seed: number,
  turns: { readonly remap: number; readonly report: number },
): Promise<Tally> {
  const draw = new Draw(seed);
  const job = await scene.startJob();
  try {
    while (await job.kill(['run'], exportMoment(draw)));
    for (let turn = 0; turn < turns.remap; turn += 1) {
      await job.kill(['remap'], { kind: 'holding', laterMs: draw.below(90) });
    }
    for (let turn = 0; turn < turns.report; turn += 1) {
      await job.kill(['report', '--json', REPORT], { kind: 'running', laterMs: 100 + draw.below(250) });
    }
    await job.finish(['run', '--json', REPORT]);
    if (job.contents() !== scene.truth) throw new Error(`seed ${seed}: another remap`);
    return job.tally;
  } finally {
    await job.close();
  }
}

/** Often while a page is saved, sometimes at the start, when a half-done transaction is taken back. */
function exportMoment(draw: Draw): Moment {
  if (draw.chance(0.2)) return { kind: 'running', laterMs: 60 + draw.below(300) };
  if (draw.chance(0.2)) return { kind: 'holding', laterMs: draw.below(20) };
  return { kind: 'request', number: 1 + draw.below(8), laterMs: draw.below(8) };
}
