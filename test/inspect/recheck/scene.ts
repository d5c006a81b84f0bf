import { afterAll } from 'vitest';
import type { Api } from '../../../src/api/client.js';
import { buildFingerprint } from '../../../src/config/config.js';
import type { OnProgress } from '../../../src/domain.js';
import { createPageSupply } from '../../../src/export/prefetch.js';
import { exportV3, exportV4 } from '../../../src/export/run-export.js';
import { createSaver } from '../../../src/export/saver.js';
import {
  indexOpen,
  type ReadLists,
  type RecheckResult,
  readAgain,
  recheck,
} from '../../../src/inspect/recheck/recheck-findings.js';
import { buildRemap } from '../../../src/match/build-remap.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../src/sandbox/start-sandbox.js';
import { prepareReadOutcome, readOpenRows } from '../../../src/store/open-findings.js';
import { openSandboxApi } from '../../support/sandbox-api.js';
import { copyJob, doWholeJob, type Job } from '../../support/whole-job.js';

const NOW = { now: () => Date.parse('2026-11-20T01:00:00Z') };
/** The backfill of the sandbox, as its clock counts. */
const BACKFILL_SECONDS = 100;

export interface Scene {
  readonly sandbox: Sandbox;
  readonly job: Job;
  readonly api: Api;
  /** How much of V4 is loaded from now on, from 0 to 1. */
  load(share: number): void;
  /** Asks again through an API of the test's own, by default the sandbox's. */
  recheck(options?: RecheckAsked): Promise<RecheckResult>;
  close(): Promise<void>;
}

export interface RecheckAsked {
  readonly api?: Pick<Api, 'fetchRecord' | 'fetchRawList' | 'fetchV4Companies'>;
  readonly onProgress?: OnProgress;
  readonly readLists?: ReadLists;
}

/** A service, and what both exports and a remap made of it when V4 had loaded a share of its records. */
interface Origin {
  readonly sandbox: Sandbox;
  readonly job: Job;
  readonly load: Scene['load'];
}

/** Tests of one file share their services, one after the other: each has its own copy of the database. */
const ORIGINS = new Map<string, Promise<Origin>>();
afterAll(async () => {
  for (const origin of ORIGINS.values()) {
    const { job, sandbox } = await origin;
    job.close();
    await sandbox.close();
  }
  ORIGINS.clear();
});

/** Both exports and a remap, made when V4 had loaded `share` of its records. */
export async function newScene(share: number, options: Partial<SandboxOptions> = {}): Promise<Scene> {
  const name = JSON.stringify([share, options]);
  const made = ORIGINS.get(name) ?? makeOrigin(share, options);
  ORIGINS.set(name, made);
  const { sandbox, job: original, load } = await made;
  load(share);
  const job = copyJob(original);
  const api = openSandboxApi(sandbox, job.config);
  return {
    sandbox,
    job,
    api,
    load,
    recheck: (asked = {}) => recheckJob(job, api, asked),
    close: async () => {
      await api.close();
      job.close();
    },
  };
}

async function makeOrigin(share: number, options: Partial<SandboxOptions>): Promise<Origin> {
  let nowMs = 0;
  const clock = () => nowMs;
  const sandbox = await startSandbox({
    seed: 2,
    scale: 300,
    backfillSeconds: BACKFILL_SECONDS,
    clock,
    ...options,
  });
  const load = (loaded: number) => {
    nowMs = loaded * BACKFILL_SECONDS * 1000;
  };
  load(share);
  return { sandbox, job: await doWholeJob(sandbox), load };
}

function recheckJob({ db, config }: Job, api: Api, asked: RecheckAsked): Promise<RecheckResult> {
  const onProgress = asked.onProgress ?? (() => {});
  const rules = { sweeps: false, sweepOverlapMs: 0, dropsMissingLists: false };
  const saver = createSaver({ db, file: config.database, payload: 'full', excluded: [], rules, clock: NOW });
  return recheck({
    readAgain: () =>
      readAgain({
        db,
        config,
        api: asked.api ?? api,
        saver,
        readLists:
          asked.readLists ??
          ((generation, onlyModels, onlyCompanies, onEvent) =>
            (generation === 'v3' ? exportV3 : exportV4)({
              db,
              file: config.database,
              config,
              fingerprint: buildFingerprint(config),
              supply: createPageSupply(api, NOW),
              signal: new AbortController().signal,
              clock: NOW,
              onProgress: onEvent,
              onlyModels,
              onlyCompanies,
            })),
        onProgress,
        runUninterruptible: async (work) => work(),
      }),
    rebuildRemap: async () => buildRemap({ db, config, named: [], clock: NOW, onProgress: () => {} }),
    readOpen: async () => indexOpen(readOpenRows(db)),
    readOutcomes: async (rows) => rows.map(prepareReadOutcome(db)),
    onProgress,
  });
}
