import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { SvcError } from '../errors.js';
import { buildVerdict } from '../report/build-verdict.js';
import { writeText } from '../runtime/write-output.js';
import { type Sandbox, startSandbox } from '../sandbox/start.js';
import { wrapText } from '../text/text-layout.js';
import type { Io } from './command.js';
import type { Given } from './define-command.js';
import { openStory, tellApply, tellDecisions } from './demo-story.js';
import { outputsOf, type ReportOutputs } from './option-values.js';
import { writeReport } from './report.js';

const FILES = {
  json: 'report.json',
  ndjson: 'findings.ndjson',
  markdown: 'report.md',
  html: 'report.html',
  junit: 'junit.xml',
} as const satisfies ReportOutputs;

interface DemoOptions extends ReportOutputs {
  readonly seed: number;
  readonly output?: string | undefined;
  readonly step: boolean;
}

/**
 * `demo`: tells a whole migration against a sandbox on a free port, from a gate that is red to rewritten tables and back. Exits
 * like `check`.
 */
export async function runDemo(given: Given<DemoOptions>, io: Io): Promise<number> {
  const { seed, output, step } = given.options;
  if (step && (!io.isTty || given.input.isTTY !== true)) {
    throw new SvcError('usage', '--step waits for Enter on a terminal, and this is none.', {
      hint: 'Leave it out.',
    });
  }
  const folder = makeFolder(output);
  const sandbox = await startSandbox({ seed, isStory: true });
  try {
    return await tellAll({ folder, sandbox }, given, io);
  } finally {
    await sandbox.close();
  }
}

async function tellAll(
  { folder, sandbox }: { readonly folder: string; readonly sandbox: Sandbox },
  { options, input }: Given<DemoOptions>,
  io: Io,
): Promise<number> {
  const outputs = outputsOf(options);
  const isTold = !Object.values(outputs).includes('-');
  const story = openStory({ folder, sandbox, input, waits: options.step, isTold }, io);
  await tellDecisions(story);
  const inFolder = Object.entries(FILES).map(([name, file]) => [name, join(folder, file)]);
  const files: ReportOutputs = { ...Object.fromEntries(inFolder), ...outputs };
  const config = story.config();
  const report = await writeReport({ config, outputs: files, verdict: 'omit' }, story.io, async (one) => one);
  if (isTold) {
    await tellApply(story);
    const { title, sentence } = buildVerdict(report);
    const verdict = wrapText(`${title}: ${sentence}`, io.width);
    const end = [...describeFolder(options.seed, sandbox), '', ...verdict, 'Next: svc-migrate init', ''];
    await writeText(io.stdout, [end.join('\n')]);
  }
  return report.exitCode;
}

function makeFolder(given: string | undefined): string {
  if (given === undefined) return mkdtempSync(join(tmpdir(), 'svc-migrate-demo-'));
  const folder = resolve(given);
  try {
    if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined) return folder;
  } catch (cause) {
    throw new SvcError('bad_input', `The folder ${folder} cannot be created.`, {
      hint: 'Name another one.',
      cause,
    });
  }
  throw new SvcError('bad_input', `The folder ${folder} exists already; nothing was changed.`, {
    hint: 'Name a new one with --output, or leave it out for a temporary folder.',
  });
}

/** How to go on from here: every command works in the folder of the demo. */
function describeFolder(seed: number, { v4 }: Sandbox): string[] {
  return [
    'All of it is still there, as the tables and files of your own migration will be:',
    '$ svc-migrate status',
    '$ svc-migrate findings --limit 5',
    '$ svc-migrate report --open',
    'The service ended with the demo. For run and verify, start it elsewhere:',
    `$ svc-migrate sandbox --seed ${seed} --scenario story --port ${new URL(v4).port}`,
  ];
}
