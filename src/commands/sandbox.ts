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
      new Option('--scenario <name>', 'how difficult the data are')
        .choices(['clean', 'ugly'])
        .default('clean'),
    )
    .option('--backfill-seconds <n>', 'how long V4 takes to load its data', wholeNumber(0, 86_400))
    .option('--truth <file>', 'write the correct answer for each V3 id, as NDJSON')
    .option('--config-out <file>', 'write a configuration for this service')
    .option(
      '--fault <name[:rate]>',
      'inject a fault into this share of the requests (default: 0.05): 429, 500, reset, truncate, hang, cursor-expiry, cursor-loop, duplicate-pages, mutate; repeatable',
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
  readonly scenario: 'clean' | 'ugly';
  readonly backfillSeconds?: number | undefined;
  readonly truth?: string | undefined;
  readonly configOut?: string | undefined;
  readonly fault?: readonly string[] | undefined;
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
  const { FAULTS, parseFault } = await import('../sandbox/service.js');
  const faults = (given.fault ?? []).map((text) => {
    const fault = parseFault(text);
    if (fault !== null) return fault;
    throw new SvcError('usage', `Invalid value "${text}" for --fault.`, {
      hint: `Write NAME or NAME:RATE with a rate from 0 to 1. Names: ${FAULTS.join(', ')}.`,
    });
  });
  return {
    seed: given.seed,
    scenario: given.scenario,
    port: given.port,
    scale: given.records,
    companies: given.companies,
    backfillSeconds: given.backfillSeconds,
    faults,
  };
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
