import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { createApi } from '../api/client.js';
import { listSecrets, loadKey, loadKeys } from '../config/api-keys.js';
import type { Config } from '../config/config.js';
import { readCompaniesFile, readDecisionsFile } from '../config/user-files.js';
import type { Env, OnProgress } from '../domain.js';
import { describeFileError, orError, SvcError } from '../errors.js';
import { assertSameExport } from '../store/fingerprint.js';
import { countOf, formatBytes } from '../text/numbers.js';
import { checkNames } from './doctor-names.js';
import {
  checkChildren,
  checkClocks,
  checkCompanies,
  checkDeleted,
  checkHosts,
  checkPages,
} from './doctor-remote.js';
import { buildDiagnosis, type Diagnosis, type Finding, failure, ok, problem, warning } from './finding.js';
import { sampleLists } from './sample-lists.js';

export interface DoctorOptions {
  readonly config: () => Promise<Config>;
  readonly env: Env;
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
}

const LOCAL_CHECKS = [
  ['configuration', checkConfig],
  ['keys', checkKeys],
  ['database', checkDatabase],
] as const;

const REMOTE_CHECKS = [
  ['hosts', checkHosts],
  ['V4 companies', checkCompanies],
  ['V4 models', checkNames],
  ['page size', checkPages],
  ['line items', checkChildren],
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
    const facts = await sampleLists(config, api);
    return buildDiagnosis([...findings, ...(await runChecks(REMOTE_CHECKS, facts, onProgress))]);
  } finally {
    await api.close();
  }
}

type Check<Facts> = (facts: Facts) => Iterable<Finding> | AsyncIterable<Finding>;

async function runChecks<Facts>(
  checks: readonly (readonly [area: string, check: Check<Facts>])[],
  facts: Facts,
  onProgress: OnProgress,
) {
  const findings: (Finding & { readonly area: string })[] = [];
  for (const [area, check] of checks) {
    onProgress({ kind: 'step', name: area, done: 0, total: null });
    for await (const finding of check(facts)) findings.push({ area, ...finding });
  }
  return findings;
}

interface LocalFacts {
  readonly config: Config;
  readonly env: Env;
}

async function* checkConfig({ config }: LocalFacts): AsyncGenerator<Finding> {
  const { models, v3, file } = config;
  const counts = `${countOf(models.length, 'model')}, ${countOf(v3.regions.length, 'V3 region')}`;
  yield ok('config_valid', `${file}: ${counts}.`);
  for (const readFile of [readCompaniesFile, readDecisionsFile]) {
    const rows = await orError<unknown>(() => readFile(config));
    if (rows instanceof SvcError) yield failure(rows);
  }
}

async function* checkKeys({ config, env }: LocalFacts): AsyncGenerator<Finding> {
  // Endpoints may share a key, which is reported once.
  const endpoints = new Map(
    [...config.v3.regions, config.v4].map((endpoint) => [endpoint.keySource, endpoint]),
  );
  for (const [source, endpoint] of endpoints) {
    const key = await orError(() => loadKey(endpoint, env));
    yield key instanceof SvcError ? failure(key) : ok('key_set', `The key in ${source} can be read.`);
  }
}

const LITTLE_BYTES = 2 ** 30;

async function* checkDatabase({ config }: LocalFacts): AsyncGenerator<Finding> {
  const { database } = config;
  const exists = existsSync(database);
  const result = await orError(() => tryDatabase(config, exists));
  // A database without tables is one that no export has filled yet.
  if (result instanceof SvcError && result.code !== 'incomplete') {
    yield failure(result);
    return;
  }
  const path = exists ? database : dirname(database);
  const fix = 'Name another file with "database" or --db.';
  try {
    accessSync(path, constants.W_OK);
  } catch (error) {
    const text = `${path} cannot be written: ${describeFileError(error)}.`;
    yield problem('database_not_writable', 6, text, fix);
    return;
  }
  const { bavail, bsize } = statfsSync(path);
  const state = exists ? 'can be used' : 'does not exist yet: the first export creates it';
  const text = `${database} ${state}; ${formatBytes(bavail * bsize)} are free there.`;
  yield bavail * bsize < LITTLE_BYTES ? warning('disk_low', text, fix) : ok('database_usable', text);
}

async function tryDatabase(config: Config, exists: boolean): Promise<void> {
  // SQLite may not be installed.
  const { closeDatabase, guardDatabase, openDatabase } = await import('../store/open.js');
  if (!exists) return;
  const db = openDatabase(config.database, 'read');
  try {
    guardDatabase(config.database, () => assertSameExport(db, config));
  } finally {
    closeDatabase(db);
  }
}
