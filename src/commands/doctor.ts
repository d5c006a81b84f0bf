import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { versions } from 'node:process';
import { applyEdits, type JSONPath, modify, parse } from 'jsonc-parser';
import { HostLimits } from '../api/limiter.js';
import { type ApiKeys, loadKey } from '../config/api-keys.js';
import type { Config, Endpoint } from '../config/config.js';
import { findConfigFile } from '../config/load-config.js';
import { readCompaniesFile, readDecisionsFile } from '../config/user-files.js';
import { orError, SvcError } from '../errors.js';
import {
  type Correction,
  judgeFindings,
  type LocalContext,
  problem,
  type RemoteContext,
} from '../inspect/doctor/check.js';
import { checkProgram, readDatabaseFacts } from '../inspect/doctor/check-machine.js';
import {
  type Diagnosis,
  LOCAL_CHECKS,
  REMOTE_CHECKS,
  renderDoctor,
  renderDoctorJson,
  runChecks,
} from '../inspect/doctor/checks.js';
import { prepareAskList, sampleV3, sampleV4 } from '../inspect/doctor/sample-lists.js';
import { alreadyThere, assertTargets, writeOutput } from '../runtime/write-output.js';
import { readSqliteVersion } from '../store/open.js';
import { escapeUnseen, shellLine } from '../text/escape.js';
import { countOf } from '../text/numbers.js';
import { layOutTable, wrapLines } from '../text/text-layout.js';
import * as z from '../zod.js';
import { withMaxWait } from './catalogue/options.js';
import type { doctor } from './catalogue/run-commands.js';
import { configFlags, type GivenTo, type Io } from './command.js';
import { readDatabase } from './database.js';
import { type ApiIo, storeHostWaits, withClient, withHostWaits } from './with-api.js';
import { ownFilesOf, writeResult } from './with-outputs.js';

/** The JSON of `doctor`. */
export const schema = z.strictObject({
  schemaVersion: z.literal(1),
  ready: z.boolean(),
  exitCode: z.exitCodeSchema,
  findings: z.array(
    z.strictObject({
      level: z.enum(['ok', 'note', 'warning', 'problem']),
      area: z.string(),
      code: z.string().describe('Stable, for programs.'),
      text: z.string(),
      fix: z.string().nullable(),
      exitCode: z.int().nullable().describe('The exit code for this kind of problem.'),
    }),
  ),
});

/**
 * `doctor`: checks everything a migration needs, and shows what to correct. Writes nothing. Exits with 0 if ready; else
 * 2 (configuration), 3 (key), 4 (network), 5 (V4 not ready) or 6 (this machine).
 */
export async function run(given: GivenTo<typeof doctor>, io: Io): Promise<number> {
  const { options } = given;
  io.onProgress({ kind: 'stage', name: 'doctor' });
  // A wrong configuration is a finding, not an error.
  const config = await orError(async () => withMaxWait(await given.config(), options));
  const { json: target, writeConfig: newConfig, offline } = options;
  if (config instanceof SvcError) {
    const next = nextWithoutConfig(given, io.env);
    return writeDiagnosis(target, judgeWithout(config), next, '', io);
  }
  if (newConfig !== undefined) assertNewConfig(newConfig, config, options.force);
  const read = await readLocally(config, io);
  if (offline) {
    const diagnosis = await runChecks(LOCAL_CHECKS, read.local, io.onProgress);
    const isReady = judgeFindings(diagnosis) === 0;
    const next = isReady ? 'svc-migrate doctor' : 'svc-migrate doctor --offline';
    return writeDiagnosis(target, diagnosis, next, renderSettings(config), io);
  }
  const diagnosis = await checkRemotely(read, io);
  if (newConfig === undefined) return writeDiagnosis(target, diagnosis, nextOf(diagnosis, config), '', io);
  const text = await writeConfig(newConfig, config, correctionsOf(diagnosis), io);
  await writeResult(target, { json: () => renderDoctorJson(diagnosis), text: () => text }, io);
  return judgeFindings(diagnosis);
}

async function writeDiagnosis(
  target: string | undefined,
  diagnosis: Diagnosis,
  next: string,
  before: string,
  io: Io,
): Promise<number> {
  const json = () => renderDoctorJson(diagnosis);
  await writeResult(target, { json, text: () => before + renderDoctor(diagnosis, next, io.width) }, io);
  return judgeFindings(diagnosis);
}

/** The settings that are in force. */
function renderSettings(config: Config): string {
  const rows = describeSettings(config).map(([name, value]) => [name, escapeUnseen(value)]);
  return `${layOutTable([{ title: 'in force' }, { title: '' }], rows, Number.MAX_SAFE_INTEGER).join('\n')}\n\n`;
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
    ['limits', describeLimits(limits)],
    ['maxAge', `${config.maxAgeMs / 3_600_000}h`],
    ['apply.targets', apply.targets.map(({ name }) => name).join(', ') || 'none'],
  ];
}

/** `ambiguous 3, unmatched 2% for crm/companies`. */
function describeLimits({ global, models }: Config['limits']): string {
  const list = (limits: Config['limits']['global'], of: string) =>
    Object.entries(limits).map(
      ([name, limit]) => `${name} ${limit.kind === 'count' ? limit.count : limit.text}${of}`,
    );
  const all = Object.entries(models).flatMap(([model, own]) => list(own, ` for ${model}`));
  return [...list(global, ''), ...all].join(', ') || 'the defaults';
}

/** The result without a valid configuration, which all other checks need. */
function judgeWithout({ message, hint }: SvcError): Diagnosis {
  const invalid = problem('config_invalid', 2, message, hint ?? 'Correct the configuration.');
  const program = checkProgram(readVersions()).map((one) => ({ ...one, area: 'program' }));
  return [...program, { ...invalid, area: 'configuration' }];
}

function nextWithoutConfig({ raw }: GivenTo<typeof doctor>, env: Io['env']): string {
  const file = configFlags(raw).config;
  if (existsSync(findConfigFile(env, file))) return 'svc-migrate doctor';
  return shellLine(['svc-migrate', 'init', ...(file === undefined ? [] : ['--config', file])]);
}

/** The file beside the configuration that `Next:` proposes for a corrected one. */
const CORRECTED_FILE = 'corrected.jsonc';

function nextOf(findings: Diagnosis, config: Config): string {
  if (judgeFindings(findings) === 0) return 'svc-migrate run';
  const file = join(dirname(config.file), CORRECTED_FILE);
  const force = existsSync(file) ? ['--force'] : [];
  const isCorrected = correctionsOf(findings).some(({ confirms }) => confirms !== true);
  return !isCorrected || file === config.file
    ? 'svc-migrate doctor'
    : shellLine(['svc-migrate', 'doctor', '--write-config', relative('', file), ...force]);
}

function correctionsOf(findings: Diagnosis): readonly Correction[] {
  return findings.flatMap(({ corrections = [] }) => corrections);
}

/** What is known without the network, the usable keys, and the company pairs that the user named. */
async function readLocally(config: Config, io: Io) {
  const usable = new Map<string, string>();
  const keyErrors = new Map<string, SvcError>();
  for (const endpoint of [...config.v3.regions, config.v4]) {
    const key = await orError(() => loadKey(endpoint, config, io.env));
    if (key instanceof SvcError) keyErrors.set(endpoint.region, key);
    else usable.set(endpoint.region, key);
  }
  const named = await orError(() => readCompaniesFile(config));
  const decisions = await orError(() => readDecisionsFile(config));
  const files = [
    ['companies_file', named],
    ['decisions_file', decisions],
  ] as const;
  const local: LocalContext = {
    ...{ config, env: io.env, nowMs: io.clock.now(), keyErrors, ...readVersions() },
    fileErrors: files.flatMap(([code, error]) => (error instanceof SvcError ? [[code, error] as const] : [])),
  };
  const keys: ApiKeys = { v3: usable, v4: usable.get('') ?? '' };
  return { local, keys, named: named instanceof SvcError ? [] : named };
}

function readVersions(): Pick<LocalContext, 'node' | 'sqlite'> {
  return { node: versions.node, sqlite: readSqliteVersion() };
}

async function checkRemotely(
  { local, keys, named }: Awaited<ReturnType<typeof readLocally>>,
  io: Io,
): Promise<Diagnosis> {
  const { config } = local;
  const diagnosis = await runChecks(LOCAL_CHECKS, local, io.onProgress);
  const database = await readDatabaseFacts(config, (work) => readDatabase(config, work));
  const send = (own: ApiIo) =>
    withClient(config, keys, own, async (api) => {
      const ask = prepareAskList(api, config);
      const askAt: RemoteContext['askAt'] = (endpoint, work) => {
        const moved = { ...config, v3: { ...config.v3, regions: [endpoint] } };
        return withClient(moved, keys, own, (other) => work(prepareAskList(other, config)));
      };
      const options = { config, api, ask, keyErrors: local.keyErrors };
      io.onProgress({ kind: 'step', name: 'ask for samples', done: 0, total: null });
      const [v3, v4] = await Promise.all([
        Promise.all(config.v3.regions.map((endpoint) => sampleV3(options, endpoint))),
        sampleV4(options),
      ]);
      const context = { ...local, v3, v4, ask, askAt, endpoints: api.endpoints, named, database };
      return [...diagnosis, ...(await runChecks(REMOTE_CHECKS, context, io.onProgress))];
    });
  // Even reading waits from an interrupted database would roll its transaction back.
  if (database.kind === 'interrupted') return send({ ...io, hostLimits: new HostLimits() });
  return withHostWaits(config.database, io, (own) =>
    own.hostLimits.savingWith(
      (wait) => storeHostWaits(config.database, [wait], io),
      () => send(own),
    ),
  );
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

/** Writes the configuration with the corrections; comments and other settings stay. Returns what changed, for people. */
async function writeConfig(
  target: string,
  config: Config,
  corrections: readonly Correction[],
  io: Io,
): Promise<string> {
  const text = correctText(readFileSync(config.file, 'utf8'), config, corrections);
  await writeOutput({ target, chunks: () => [text] }, io);
  const count = corrections.length === 0 ? 'no setting' : countOf(corrections.length, 'setting');
  const lines = [
    `Wrote ${relative('', target)}: ${count} changed.`,
    ...corrections.map(({ text }) => `  ${text}`),
  ];
  return `${wrapLines(lines, io.width)}Next: ${shellLine(['svc-migrate', 'doctor', '--config', target])}\n`;
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
