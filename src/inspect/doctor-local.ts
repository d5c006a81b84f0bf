import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { loadKey } from '../config/api-keys.js';
import type { Config } from '../config/config.js';
import { readCompaniesFile, readDecisionsFile } from '../config/user-files.js';
import type { Env } from '../domain.js';
import { describeFileError, orError, SvcError } from '../errors.js';
import { assertSameExport } from '../store/fingerprint.js';
import { closeDatabase, guardDatabase, openDatabase, openEmptyDatabase } from '../store/open.js';
import { countOf, formatBytes } from '../text/numbers.js';
import { type Finding, failure, ok, problem, warning } from './finding.js';

interface LocalFacts {
  readonly config: Config;
  readonly env: Env;
}

export async function* checkConfig({ config }: LocalFacts): AsyncGenerator<Finding> {
  const { models, v3, file } = config;
  const counts = `${countOf(models.length, 'model')}, ${countOf(v3.regions.length, 'V3 region')}`;
  yield ok('config_valid', `${file}: ${counts}.`);
  const read = [
    await orError(() => readCompaniesFile(config)),
    await orError(() => readDecisionsFile(config)),
  ];
  for (const result of read) if (result instanceof SvcError) yield failure(result);
}

export async function* checkKeys({ config, env }: LocalFacts): AsyncGenerator<Finding> {
  // Endpoints may share a key, which is reported once.
  const endpoints = new Map(
    [...config.v3.regions, config.v4].map((endpoint) => [endpoint.keySource, endpoint]),
  );
  for (const [source, endpoint] of endpoints) {
    const key = await orError(() => loadKey(endpoint, env));
    yield key instanceof SvcError ? failure(key) : ok('key_set', `The key in ${source} can be read.`);
  }
}

export async function* checkDatabase({ config }: LocalFacts): AsyncGenerator<Finding> {
  const { database } = config;
  const exists = existsSync(database);
  const result = await orError(() => (exists ? tryDatabase(config) : openEmptyDatabase().close()));
  // A database without tables is one that no export has filled yet.
  if (result instanceof SvcError && result.code !== 'incomplete') {
    yield failure(result);
    return;
  }
  const path = exists ? database : dirname(database);
  try {
    accessSync(path, constants.W_OK);
    const created = exists ? 'can be used' : 'does not exist yet: the first export creates it';
    yield ok('database_usable', `${database} ${created}.`);
  } catch (error) {
    const text = `${path} cannot be written: ${describeFileError(error)}.`;
    yield problem('database_not_writable', 6, text, 'Name another file with "database" or --db.');
  }
}

function tryDatabase(config: Config): void {
  const db = openDatabase(config.database, 'read');
  try {
    guardDatabase(config.database, () => assertSameExport(db, config));
  } finally {
    closeDatabase(db);
  }
}

const LITTLE_BYTES = 2 ** 30;

export function* checkDisk({ config: { database } }: LocalFacts): Generator<Finding> {
  const folder = dirname(database);
  if (!existsSync(folder)) return;
  const { bavail, bsize } = statfsSync(folder);
  const text = `${formatBytes(bavail * bsize)} are free where the database is.`;
  const fix = 'Name a larger disk with "database" or --db, or set "payload" to "ids".';
  yield bavail * bsize >= LITTLE_BYTES ? ok('disk_free', text) : warning('disk_low', text, fix);
}
