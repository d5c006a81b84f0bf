import { once } from 'node:events';
import { Command, Option } from '@commander-js/extra-typings';
import { SvcError } from '../errors.js';
import type { Sandbox, SandboxOptions } from '../sandbox/start-sandbox.js';
import { shellLine } from '../text/escape.js';
import type { DefineCommand, Io } from './command.js';
import { repeatable, wholeNumber } from './options.js';

const LARGEST_SEED = 2 ** 32 - 1;

export const sandboxCommand: DefineCommand = (run) =>
  new Command('sandbox')
    .summary('a local V3 and V4 service for rehearsal and tests')
    .description(
      'Serves V3 and V4 until Ctrl-C. When ready, prints its addresses and API key: as one line of JSON, on a terminal as lines to copy. The same seed always gives the same service.',
    )
    .option('--seed <n>', 'seed of the test data', wholeNumber(0, LARGEST_SEED), 1)
    .option('--port <n>', 'port on 127.0.0.1 (default: any free port)', wholeNumber(0, 65_535))
    .option('--records <n>', 'approximate number of V3 records (default: 800)', wholeNumber(0, 10_000_000))
    .option('--companies <n>', 'number of companies (default: 4, ugly: 5)', wholeNumber(0, 1000))
    .addOption(
      new Option('--scenario <name>', 'how difficult the data are; story: the service of `demo`')
        .choices(['clean', 'ugly', 'story'] as const)
        .default('clean' as const),
    )
    .option('--window <days>', "length of V4's history (default: 90)", wholeNumber(7, 700))
    .option('--backfill-seconds <n>', 'how long V4 takes to load its data', wholeNumber(0, 86_400))
    .option('--latency <ms>', 'how long every answer takes', wholeNumber(0, 60_000))
    .option('--truth <file>', 'write the correct answer for each V3 id, as NDJSON')
    .option('--config-out <file>', 'write a configuration for this service')
    .option(
      '--fault <name[:rate]>',
      'inject a fault into this share of the requests (default: 0.05): 429, 500, reset, truncate, hang, cursor-expiry, cursor-loop, duplicate-pages, mutate; repeatable',
      repeatable,
    )
    .option(
      '--quirk <name[=value]>',
      'differ from the specification: ignore=gte, refuse=select, page-cap=50, page-limit=50, clock-skew=3600, absent-v3=crm/stages, malformed=0.02, gzip, total-count=1000, any-model; repeatable',
      repeatable,
    )
    .addHelpText(
      'after',
      '\nExample:\n  svc-migrate sandbox --scenario ugly --fault 429:0.1 --config-out sandbox.json\n',
    )
    .action((options, command) =>
      run(command, ['truth', 'configOut'], async (io) => {
        await serve(options, io);
        return { exitCode: 0 };
      }),
    );

interface ServeOptions {
  readonly seed: number;
  readonly port?: number | undefined;
  readonly records?: number | undefined;
  readonly companies?: number | undefined;
  readonly scenario: 'clean' | 'ugly' | 'story';
  readonly window?: number | undefined;
  readonly backfillSeconds?: number | undefined;
  readonly latency?: number | undefined;
  readonly truth?: string | undefined;
  readonly configOut?: string | undefined;
  readonly fault?: readonly string[] | undefined;
  readonly quirk?: readonly string[] | undefined;
}

/** Serves until a signal. The truth is written at the start, and again at the end if the service changed meanwhile. */
async function serve(given: ServeOptions, io: Io): Promise<void> {
  const { startSandbox } = await import('../sandbox/start-sandbox.js');
  const { writeOutput } = await import('../runtime/write-output.js');
  const options = await sandboxOptions(given);
  io.onProgress({ kind: 'stage', name: 'preparing the sandbox' });
  const sandbox = await startSandbox(options).catch((cause: unknown) => {
    throw cannotListen(given, cause);
  });
  const writeTruth = async () => {
    const lines = function* () {
      for (const row of sandbox.truth()) yield `${JSON.stringify(row)}\n`;
    };
    const { signal } = new AbortController();
    if (given.truth !== undefined) await writeOutput(given.truth, lines(), { stdout: io.stdout, signal });
  };
  try {
    sandbox.completeFullSync();
    await writeTruth();
    if (given.configOut !== undefined) {
      await writeOutput(given.configOut, [`${JSON.stringify(sandbox.config(), null, 2)}\n`], io);
    }
    await writeOutput(
      '-',
      [io.stdout.isTTY === true ? renderBanner(sandbox, given) : renderLine(sandbox, given)],
      io,
    );
    if (!io.signal.aborted) await once(io.signal, 'abort');
    if (options.faults?.some(({ name }) => name === 'mutate')) await writeTruth();
  } finally {
    await sandbox.close();
  }
}

async function sandboxOptions(given: ServeOptions): Promise<SandboxOptions> {
  const { addQuirk, FAULTS, NO_QUIRKS, parseFault, QUIRKS } = await import('../sandbox/faults.js');
  const faults = (given.fault ?? []).map((text) =>
    parseOr(`--fault ${text}`, `NAME or NAME:RATE, where NAME is ${FAULTS.join(', ')}.`, () =>
      parseFault(text),
    ),
  );
  const quirks = (given.quirk ?? []).reduce(
    (all, text) => parseOr(`--quirk ${text}`, `Known: ${QUIRKS.join(', ')}.`, () => addQuirk(all, text)),
    NO_QUIRKS,
  );
  return {
    seed: given.seed,
    scenario: given.scenario === 'ugly' ? 'ugly' : 'clean',
    isStory: given.scenario === 'story',
    port: given.port,
    scale: given.records,
    companies: given.companies,
    windowDays: given.window,
    backfillSeconds: given.backfillSeconds,
    latencyMs: given.latency,
    faults,
    quirks,
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

function cannotListen({ port }: ServeOptions, cause: unknown): unknown {
  if (!(cause instanceof Error && 'code' in cause)) return cause;
  return new SvcError('usage', `Cannot listen on port ${port} of 127.0.0.1.`, {
    hint: 'Choose another port with --port, or leave it out to use any free port.',
    facts: { error: String(cause.code) },
    cause,
  });
}

function renderLine({ v3, v4, apiKey }: Sandbox, { seed, scenario }: ServeOptions): string {
  return `${JSON.stringify({ v3, v4, apiKey, seed, scenario })}\n`;
}

/** What to copy into another terminal. */
function renderBanner({ v3, v4, apiKey }: Sandbox, { seed, scenario, configOut }: ServeOptions): string {
  const regions = Object.entries(v3).map(([region, address]) => `  V3 ${region}: ${address}`);
  const words = configOut === undefined ? ['init'] : ['run', '--config', configOut];
  const lines = [
    `The sandbox is ready (seed ${seed}, ${scenario}); Ctrl-C ends it.`,
    ...regions,
    `  V4: ${v4}`,
    '',
    'In another terminal:',
    `  export SVC_MIGRATE_V3_API_KEY=${apiKey}`,
    `  export SVC_MIGRATE_V4_API_KEY=${apiKey}`,
    `  ${shellLine(['svc-migrate', ...words])}`,
  ];
  return `${lines.join('\n')}\n`;
}
