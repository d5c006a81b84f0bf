import { createApi } from '../api/client.js';
import { listSecrets, loadKeys } from '../config/api-keys.js';
import type { Config } from '../config/config.js';
import type { Env, OnProgress } from '../domain.js';
import { orError, SvcError } from '../errors.js';
import { checkConfig, checkDatabase, checkDisk, checkKeys } from './doctor-local.js';
import { checkNames } from './doctor-names.js';
import {
  checkClocks,
  checkCompanies,
  checkDeleted,
  checkHosts,
  checkLists,
  checkPages,
} from './doctor-remote.js';
import { type Correction, type Finding, failure, PROBLEM_CODES } from './finding.js';
import { sampleLists } from './sample-lists.js';

export interface DoctorOptions {
  readonly config: () => Promise<Config>;
  readonly env: Env;
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
}

export interface Diagnosis {
  readonly schemaVersion: 1;
  readonly ready: boolean;
  readonly exitCode: number;
  readonly findings: readonly (Omit<Finding, 'correction'> & { readonly area: string })[];
  readonly corrections: readonly Correction[];
}

type Check<Facts> = readonly [
  area: string,
  check: (facts: Facts) => Iterable<Finding> | AsyncIterable<Finding>,
];
type Checked = Finding & { readonly area: string };

const LOCAL_CHECKS = [
  ['configuration', checkConfig],
  ['keys', checkKeys],
  ['database', checkDatabase],
  ['disk', checkDisk],
] as const;

const REMOTE_CHECKS = [
  ['hosts', checkHosts],
  ['lists', checkLists],
  ['V4 companies', checkCompanies],
  ['V4 models', checkNames],
  ['page size', checkPages],
  ['deleted records', checkDeleted],
  ['clock', checkClocks],
] as const;

/** Attempts for each request, so that a wrong address shows soon. */
const ATTEMPTS = 4;

/** Checks everything that a migration needs. Writes nothing. Without all keys, nothing is requested. */
export async function diagnose(options: DoctorOptions): Promise<Diagnosis> {
  const { env, onProgress } = options;
  const config = await orError(options.config);
  if (config instanceof SvcError) return buildDiagnosis([{ area: 'configuration', ...failure(config) }]);
  const findings = await runChecks(LOCAL_CHECKS, { config, env }, onProgress);
  const keys = await orError(() => loadKeys(config, env));
  if (keys instanceof SvcError) return buildDiagnosis(findings);
  const secrets = await listSecrets(config, env);
  const http = { ...config.http, attempts: Math.min(ATTEMPTS, config.http.attempts) };
  const api = createApi({ ...options, config: { ...config, http }, keys, secrets });
  try {
    onProgress({ kind: 'step', name: 'ask for samples', done: 0, total: null });
    const facts = { config, api, ...(await sampleLists(config, api)) };
    findings.push(...(await runChecks(REMOTE_CHECKS, facts, onProgress)));
  } finally {
    await api.close();
  }
  return buildDiagnosis(findings);
}

async function runChecks<Facts>(
  checks: readonly Check<Facts>[],
  facts: Facts,
  onProgress: OnProgress,
): Promise<Checked[]> {
  const findings: Checked[] = [];
  for (const [area, check] of checks) {
    onProgress({ kind: 'step', name: area, done: 0, total: null });
    for await (const finding of check(facts)) findings.push({ area, ...finding });
  }
  return findings;
}

function buildDiagnosis(checked: readonly Checked[]): Diagnosis {
  const exitCode = PROBLEM_CODES.find((code) => checked.some((finding) => finding.exitCode === code)) ?? 0;
  return {
    schemaVersion: 1,
    ready: exitCode === 0,
    exitCode,
    findings: checked.map(({ correction: _, ...finding }) => finding),
    corrections: checked.flatMap(({ correction }) => correction ?? []),
  };
}
