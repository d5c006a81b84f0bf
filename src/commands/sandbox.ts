import { once } from 'node:events';
import { SvcError } from '../errors.js';
import { writeTextFile } from '../runtime/write-output.js';
import { addQuirk, FAULTS, NO_QUIRKS, parseFault, QUIRKS } from '../sandbox/faults.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../sandbox/start-sandbox.js';
import { shellLine } from '../text/escape.js';
import { countOf } from '../text/numbers.js';
import type { sandbox as definition } from './catalogue/run-commands.js';
import type { GivenTo, Io, OptionsOf } from './command.js';

/**
 * `sandbox`: serves V3 and V4 until a signal. When ready, prints addresses, key and seed: as one JSON line, or on a
 * terminal as lines to copy. The truth is written at the start, and again at the end if the service changed meanwhile.
 */
export async function run(
  { options: given }: GivenTo<typeof definition>,
  io: Pick<Io, 'stdout' | 'signal'> & Partial<Pick<Io, 'isTty' | 'onProgress'>>,
): Promise<number> {
  const options = parseOptions(given);
  const { truth } = given;
  const records = options.scale === undefined ? 'its records' : `about ${countOf(options.scale, 'record')}`;
  io.onProgress?.({ kind: 'note', level: 'info', text: `Preparing a sandbox with ${records} …` });
  const sandbox = await start(options);
  sandbox.completeFullSync();
  try {
    await writeTruth(truth, sandbox);
    const { configOut } = given;
    if (configOut !== undefined)
      await writeTextFile(configOut, [`${JSON.stringify(sandbox.config(), null, 2)}\n`]);
    const { v3, v4, apiKey } = sandbox;
    const { seed, scenario } = given;
    const json = `${JSON.stringify({ v3, v4, apiKey, seed, scenario })}\n`;
    io.stdout.write(io.isTty === true ? renderBanner(sandbox, given, given.configOut) : json);
    if (!io.signal.aborted) await once(io.signal, 'abort');
    if (options.faults?.some(({ name }) => name === 'mutate')) await writeTruth(truth, sandbox);
    return 0;
  } finally {
    await sandbox.close();
  }
}

async function start(options: SandboxOptions): Promise<Sandbox> {
  try {
    return await startSandbox(options);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause;
    throw new SvcError('usage', `Cannot listen on port ${options.port} of 127.0.0.1.`, {
      hint: 'Choose another port with --port, or leave it out to use any free port.',
      facts: { error: String(cause.code) },
      cause,
    });
  }
}

/** What to copy into another terminal. */
function renderBanner(
  { v3, v4, apiKey }: Sandbox,
  { seed, scenario }: OptionsOf<typeof definition>,
  file?: string,
): string {
  const regions = Object.entries(v3).map(([region, address]) => `  V3 ${region}: ${address}`);
  const words = file === undefined ? ['svc-migrate', 'init'] : ['svc-migrate', 'run', '--config', file];
  const lines = [
    `The sandbox is ready (seed ${seed}, ${scenario}); Ctrl-C ends it.`,
    ...regions,
    `  V4: ${v4}`,
    '',
    'In another terminal:',
    `  export SVC_MIGRATE_V3_API_KEY=${apiKey}`,
    `  export SVC_MIGRATE_V4_API_KEY=${apiKey}`,
    `  ${shellLine(words)}`,
  ];
  return `${lines.join('\n')}\n`;
}

function parseOptions(given: OptionsOf<typeof definition>): SandboxOptions {
  return {
    seed: given.seed,
    scenario: given.scenario === 'ugly' ? 'ugly' : 'clean',
    isStory: given.scenario === 'story',
    port: given.port ?? 0,
    scale: given.records,
    companies: given.companies,
    windowDays: given.window,
    backfillSeconds: given.backfillSeconds,
    latencyMs: given.latency,
    eventsUrl: given.events,
    faults: given.fault.map((text) => {
      const hint = `NAME or NAME:RATE, where NAME is ${FAULTS.join(', ')}.`;
      return parseOr(`--fault ${text}`, hint, () => parseFault(text));
    }),
    quirks: given.quirk.reduce((quirks, text) => {
      return parseOr(`--quirk ${text}`, `Known: ${QUIRKS.join(', ')}.`, () => addQuirk(quirks, text));
    }, NO_QUIRKS),
  };
}

/** The result of `parse`; a TypeError becomes an error about the option. */
function parseOr<T>(option: string, hint: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new SvcError('usage', `${option}: ${cause.message}`, { hint, cause });
  }
}

async function writeTruth(file: string | undefined, sandbox: Sandbox): Promise<void> {
  if (file === undefined) return;
  function* lines(): Generator<string> {
    for (const row of sandbox.truth()) yield `${JSON.stringify(row)}\n`;
  }
  await writeTextFile(file, lines());
}
