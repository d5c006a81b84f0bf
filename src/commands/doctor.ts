import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { versions } from 'node:process';
import { applyEdits, type JSONPath, modify, parse } from 'jsonc-parser';
import { type ApiKeys, loadKey } from '../config/api-keys.js';
import type { Config, Endpoint } from '../config/config.js';
import { findConfigFile } from '../config/load-config.js';
import { SvcError } from '../errors.js';
import { judgeFacts } from '../inspect/doctor/checks.js';
import { type Correction, listCorrections } from '../inspect/doctor/corrections.js';
import { type Finding, judgeFindings, ok, problem } from '../inspect/doctor/doctor-finding.js';
import {
  judgeProgram,
  orError,
  readDatabaseFacts,
  readDisk,
  readTargets,
  readUserFiles,
} from '../inspect/doctor/judge-local.js';
import { probeRemote } from '../inspect/doctor/probe.js';
import {
  type DoctorFacts,
  type LocalFacts,
  prepareAskList,
  type RemoteFacts,
} from '../inspect/doctor/probe-results.js';
import { renderDoctor, renderDoctorJson } from '../inspect/doctor/render-doctor.js';
import { alreadyThere, assertTargets } from '../runtime/output-targets.js';
import { writeOutput, writeText } from '../runtime/write-output.js';
import { readSqliteVersion } from '../store/open.js';
import { escapeUnseen, shellLine } from '../text/escape.js';
import { countOf } from '../text/numbers.js';
import { layOutTable } from '../text/text-layout.js';
import type { Io } from './command.js';
import { readDatabase } from './database.js';
import { configFlags, type Given } from './define-command.js';
import { type MaxWait, withMaxWait } from './option-values.js';
import { storeHostWaits, withClient, withHostWaits } from './with-api.js';
import { ownFilesOf, writeResult } from './with-outputs.js';

interface DoctorOptions extends MaxWait {
  readonly all: boolean;
  readonly offline: boolean;
  readonly writeConfig?: string | undefined;
  readonly force: boolean;
  readonly json?: string | undefined;
}

/**
 * `doctor`: checks everything a migration needs, and shows what to correct. Writes nothing. Exits with 0 if ready; else
 * 2 (configuration), 3 (key), 4 (network), 5 (V4 not ready) or 6 (this machine).
 */
export async function runDoctor(given: Given<DoctorOptions>, io: Io): Promise<number> {
  const { options } = given;
  io.onProgress({ kind: 'stage', name: 'doctor' });
  // A wrong configuration is a finding, not an error.
  const config = await orError(async () => withMaxWait(await given.config(), options));
  const { json: target, writeConfig: newConfig } = options;
  if (newConfig !== undefined && !(config instanceof SvcError)) {
    assertNewConfig(newConfig, config, options.force);
  }
  if (options.offline && !(config instanceof SvcError)) return checkOffline(config, target, io);
  const facts = config instanceof SvcError ? null : await collectFacts(config, options.all, io);
  const findings = facts === null ? judgeWithout(config) : judgeFacts(facts);
  const json = () => renderDoctorJson(findings, facts);
  if (newConfig !== undefined && facts !== null) {
    await writeConfig(newConfig, facts.config, listCorrections(facts), io);
  }
  const next = nextOf(facts, findings, given, io.env);
  await writeResult(target, { json, text: () => renderDoctor(findings, next, io.width) }, io);
  return judgeFindings(findings);
}

/** `doctor --offline`: checks the configuration, its files and keys, and shows the settings that are in force. */
async function checkOffline(config: Config, target: string | undefined, io: Io): Promise<number> {
  const { fileErrors } = await readUserFiles(config);
  const { keyErrors } = await readKeys(config, io.env);
  const findings = [
    ...judgeProgram(readVersions()),
    ok('configuration', 'config_valid', `${config.file} is valid.`),
    ...fileErrors.map(([code, { message, hint }]) =>
      problem('configuration', code, 6, message, hint ?? 'Correct the file.'),
    ),
    ...[...keyErrors.values()].map(({ message, hint }) =>
      problem('configuration', 'key_missing', 2, message, hint ?? 'Set the variable.'),
    ),
  ];
  const isReady = judgeFindings(findings) === 0;
  const rows = describeSettings(config).map(([name, value]) => [name, escapeUnseen(value)]);
  const columns = ['in force', ''].map((title) => ({ title, align: 'left' as const }));
  const settings = layOutTable(columns, rows, Number.MAX_SAFE_INTEGER, '  ').join('\n');
  const text = () =>
    `${settings}\n\n${renderDoctor(findings, isReady ? 'svc-migrate doctor' : 'svc-migrate doctor --offline', io.width)}`;
  await writeResult(target, { json: () => renderDoctorJson(findings, null), text }, io);
  return judgeFindings(findings);
}

/** The settings with flags, environment and defaults applied. */
function describeSettings(config: Config): [name: string, value: string][] {
  const { v3, v4, models, backfill, limits, apply } = config;
  const speed = ({ pageSize, concurrency, requestsPerSecond }: Endpoint) =>
    `pages of ${pageSize}, ${concurrency} at a time, ${requestsPerSecond} requests per second`;
  const since = backfill.sinceMs === null ? 'inferred from V4' : new Date(backfill.sinceMs).toISOString();
  return [
    ['configuration', config.file],
    ['database', config.database],
    ['fieldPrefix', config.fieldPrefix],
    ...[...v3.regions, v4].flatMap((endpoint): [string, string][] => [
      [endpoint.region === '' ? 'v4' : `v3.regions.${endpoint.region}`, endpoint.baseUrl],
      ['', `key from ${endpoint.keySource}; ${speed(endpoint)}`],
    ]),
    ...models.map((model): [string, string] => [
      model.v3,
      [model.v4 ?? 'not in V4', ...model.children.map((field) => `with ${field}`)].join(', '),
    ]),
    [
      'companies',
      JSON.stringify(config.companies, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
    ],
    ['decisions', config.decisions ?? 'none'],
    ['backfill.since', since],
    ['payload', config.payload],
    ['limits', JSON.stringify(limits)],
    ['maxAge', `${config.maxAgeMs / 3_600_000}h`],
    ['apply.targets', apply.targets.map(({ name }) => name).join(', ') || 'none'],
  ];
}

/** Findings without a valid configuration, which all other checks need. */
function judgeWithout(error: unknown): readonly Finding[] {
  if (!(error instanceof SvcError)) throw error;
  const fix = error.hint ?? 'Correct the configuration.';
  return [...judgeProgram(readVersions()), problem('configuration', 'config_invalid', 2, error.message, fix)];
}

/** The file beside the configuration that `Next:` proposes for a corrected one. */
const CORRECTED_FILE = 'corrected.jsonc';

function nextOf(
  facts: DoctorFacts | null,
  findings: readonly Finding[],
  given: Given<DoctorOptions>,
  env: Io['env'],
): string {
  const newConfig = given.options.writeConfig;
  if (facts === null) {
    const file = configFlags(given.raw).config;
    if (existsSync(findConfigFile(env, file))) return 'svc-migrate doctor';
    return shellLine(['svc-migrate', 'init', ...(file === undefined ? [] : ['--config', file])]);
  }
  if (newConfig !== undefined) return shellLine(['svc-migrate', 'doctor', '--config', newConfig]);
  if (judgeFindings(findings) !== 0) {
    const file = join(dirname(facts.config.file), CORRECTED_FILE);
    const force = existsSync(file) ? ['--force'] : [];
    const isCorrected = listCorrections(facts).some(({ confirms }) => confirms !== true);
    return !isCorrected || file === facts.config.file
      ? 'svc-migrate doctor'
      : shellLine(['svc-migrate', 'doctor', '--write-config', relative('', file), ...force]);
  }
  return 'svc-migrate run';
}

async function collectFacts(config: Config, all: boolean, io: Io): Promise<DoctorFacts> {
  const { named, fileErrors } = await readUserFiles(config);
  const local: LocalFacts = {
    ...readVersions(),
    ...readDisk(config.database),
    database: await readDatabaseFacts(config, (work) => readDatabase(config, work)),
    fileErrors,
    targets: readTargets(config, io.env),
  };
  const send = () => probe(config, named, all, io);
  // Even reading waits from an interrupted database would roll its transaction back.
  const remote =
    local.database.kind === 'interrupted'
      ? await send()
      : await withHostWaits(config.database, io, () =>
          io.hostLimits.savingWith((wait) => storeHostWaits(config.database, [wait], io), send),
        );
  return { config, nowMs: io.clock.now(), local, remote };
}

function readVersions(): Pick<LocalFacts, 'node' | 'sqlite'> {
  return { node: versions.node, sqlite: readSqliteVersion() };
}

async function probe(
  config: Config,
  named: Parameters<typeof probeRemote>[0]['named'],
  all: boolean,
  io: Io,
): Promise<RemoteFacts> {
  const { keys, keyErrors } = await readKeys(config, io.env);
  const facts = await withClient(config, keys, io, (api) =>
    probeRemote({ config, api, keyErrors, named, all, onProgress: io.onProgress }),
  );
  return { ...facts, v3Addresses: await findV3Addresses(config, keys, facts, io) };
}

/** Tries `/v3` behind the addresses that answered 404 to every model and do not end in a version. */
async function findV3Addresses(config: Config, keys: ApiKeys, { v3: lists }: RemoteFacts, io: Io) {
  const found = new Map<string, string>();
  for (const endpoint of config.v3.regions) {
    const own = lists.filter(({ region }) => region === endpoint.region);
    const isAbsent = own.length > 0 && own.every(({ answer }) => answer.kind === 'absent');
    if (!isAbsent || /\/v\d+$/.test(endpoint.baseUrl)) continue;
    const moved = { ...endpoint, baseUrl: `${endpoint.baseUrl}/v3` };
    const trial = { ...config, v3: { ...config.v3, regions: [moved] } };
    const kinds = await withClient(trial, keys, io, (api) => {
      const ask = prepareAskList(api, config.fieldPrefix);
      return Promise.all(own.map(async (list) => (await ask(list, 1)).kind));
    });
    if (kinds.includes('answers')) found.set(endpoint.region, moved.baseUrl);
  }
  return found;
}

/** The usable keys, and the errors of the others by region ('' for V4). */
async function readKeys(config: Config, env: Io['env']) {
  const usable = new Map<string, string>();
  const keyErrors = new Map<string, SvcError>();
  for (const endpoint of [...config.v3.regions, config.v4]) {
    const key = await orError(() => loadKey(endpoint, config, env));
    if (key instanceof SvcError) keyErrors.set(endpoint.region, key);
    else usable.set(endpoint.region, key);
  }
  return { keys: { v3: usable, v4: usable.get('') ?? '' }, keyErrors };
}

/** Checks the target of `doctor --write-config` before anything is sent. */
function assertNewConfig(target: string, config: Config, force: boolean): void {
  if (target === '-') throw new SvcError('usage', '--write-config writes a file, not stdout.');
  assertTargets([target], ownFilesOf(config));
  if (dirname(resolve(target)) !== dirname(config.file)) {
    const hint = 'Paths in a configuration are relative to it.';
    throw new SvcError('usage', `Name a file in ${dirname(config.file)}.`, { hint });
  }
  if (!force && existsSync(target)) throw alreadyThere(target);
}

/** Writes the configuration with the corrections; comments and other settings stay. */
async function writeConfig(
  target: string,
  config: Config,
  corrections: readonly Correction[],
  io: Io,
): Promise<void> {
  const text = correctText(readFileSync(config.file, 'utf8'), config, corrections);
  await writeOutput({ target, chunks: () => [text] }, io);
  const lines = corrections.map((one) => `  ${one.text}\n`);
  const count = corrections.length === 0 ? 'no setting' : countOf(corrections.length, 'setting');
  await writeText(io.stderr, [`Wrote ${relative('', target)}: ${count} changed.\n`, ...lines]);
}

function correctText(text: string, config: Config, corrections: readonly Correction[]): string {
  const change = (before: string, path: JSONPath, value: unknown) =>
    applyEdits(
      before,
      modify(before, path, value, { formattingOptions: { insertSpaces: true, tabSize: 2 } }),
    );
  const hasModels = Object.hasOwn(parse(text), 'models');
  const models = config.models.map(({ v3, v4, expand, children }) => ({ v3, v4, expand, children }));
  const isNamed = corrections.some(({ path }) => path[0] === 'models');
  const withModels = hasModels || !isNamed ? text : change(text, ['models'], models);
  return corrections.reduce((before, { path, value }) => change(before, [...path], value), withModels);
}
