import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SvcError } from '../../errors.js';
import { onFile } from '../../runtime/write-output.js';
import * as z from '../../zod.js';
import { type ApplyResult, type ApplyTask, describeBlocked } from '../actions.js';
import { judgeEmit } from '../judge-plan.js';
import type { Plan } from '../plan.js';
import { type OpenStore, survey } from '../stores.js';
import { confirmPlan, planSha256, runName } from '../write-plan.js';
import type { SqlScript } from './build-script.js';
import type { EmitRequest } from './emit-request.js';
import { type EmittedFiles, layOut } from './layouts.js';

const ABOUT =
  'Nothing was changed. The SQL checks that the data are as planned, and records the run in the ledger.';

/**
 * Plans the targets and writes the plan as SQL into a folder. The database is only read.
 *
 * @throws SvcError `bad_input` if the folder holds other files, or the plan needs what only `apply` itself can do
 */
export async function emitSql(
  task: ApplyTask,
  agreed: Plan | null,
  request: EmitRequest,
): Promise<ApplyResult> {
  const { context, stores, targets, formatCommand } = task;
  const { dialect, layout, folder } = request;
  assertOwnFolder(folder);
  const store = onlyStore(stores);
  const now = await survey(context, stores, targets);
  const plan = agreed === null ? now : await confirmPlan(stores, agreed, now);
  const verdict = judgeEmit(plan);
  if (verdict.exitCode !== 0) return describeBlocked('emit', task, plan, verdict);
  const sha256 = planSha256(agreed ?? now);
  const suffix = sha256.slice(0, 6);
  const builtMs = Date.parse(context.remapVersion.builtAt);
  const atMs = request.atMs ?? builtMs + shiftMs(suffix);
  const run = runName(request.atMs ?? builtMs, suffix);
  const script = await store.emit(plan.targets, { run, planSha256: sha256, isExact: true });
  const files = layOut(layout, script, { atMs, suffix, lines: headOf(script, run, plan) });
  writeFolder(folder, files, sha256);
  const names = [...files.keys()];
  return {
    exitCode: 0,
    text: `Wrote SQL for ${script.title} (${layout}) to ${folder}, as run ${run}:\n${names.map((name) => `  ${name}\n`).join('')}${ABOUT}\n`,
    json: {
      action: 'emit',
      dialect,
      layout,
      folder,
      run,
      files: names,
      remap: plan.remap,
      policy: plan.policy,
      values: script.values,
    },
    next: `run the SQL through your pipeline, then ${formatCommand('apply', '--verify')}`,
    plan,
  };
}

/** Milliseconds of up to an hour that depend on the plan: Flyway and Rails accept each timestamp only once. */
function shiftMs(suffix: string): number {
  return (Number.parseInt(suffix, 16) % 1800) * 2000;
}

/** @throws SvcError `usage` */
function onlyStore(stores: readonly OpenStore[]): Required<Pick<OpenStore, 'emit'>> {
  const [store, other] = stores;
  if (store?.emit === undefined) throw new Error('a store without SQL');
  if (other === undefined) return { emit: store.emit };
  const text = `The targets ${store.targets[0]} and ${other.targets[0]} are in different databases.`;
  throw new SvcError('usage', text, {
    hint: 'Write the SQL for one database at a time: name its targets.',
  });
}

function headOf({ title }: SqlScript, run: string, { tool, remap, targets }: Plan): string[] {
  return [
    `Rewrites V3 ids to V4 ids in ${title}: run ${run}`,
    `Written by ${tool} from the remap ${remap.sha256.slice(0, 16)}. Targets: ${targets.map(({ name }) => name).join(', ')}`.replaceAll(
      /[\r\n]/g,
      ' ',
    ),
    'Running it again changes nothing. It fails before it changes anything if the data are not as planned.',
    'Run it with a client that stops at the first error.',
  ];
}

/** Names the plan and the files, so that the same plan may replace them. */
const MANIFEST = 'svc-migrate-sql.json';

const manifestSchema = z.object({ plan: z.string(), files: z.array(z.string()) });

/**
 * Checks that a folder does not exist, is empty, or holds only what an earlier run wrote.
 *
 * @throws SvcError `bad_input`
 */
function assertOwnFolder(folder: string): void {
  if (!existsSync(folder)) return;
  const hint = 'Name a new or empty folder with --output, and copy the files from there.';
  if (!statSync(folder).isDirectory())
    throw new SvcError('bad_input', `${folder} is a file, not a folder.`, { hint });
  const own = new Set([MANIFEST, ...readManifest(folder).files]);
  const other = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !statSync(join(folder, name)).isDirectory())
    .find((name) => !own.has(name.replaceAll('\\', '/')));
  if (other === undefined) return;
  throw new SvcError('bad_input', `${folder} holds other files (such as ${other}); nothing was written.`, {
    hint,
  });
}

/**
 * Replaces what a run of the same plan wrote. The manifest is written first, so that an interrupted write is recognised.
 *
 * @throws SvcError `bad_input` if the folder holds other files or the SQL of another plan
 */
function writeFolder(folder: string, files: EmittedFiles, plan: string): void {
  assertOwnFolder(folder);
  const before = readManifest(folder);
  if (before.files.length > 0 && before.plan !== plan) {
    throw new SvcError('bad_input', `${folder} holds the SQL of another plan; nothing was written.`, {
      hint: 'Name another folder with --output, or delete this one if its SQL was never used.',
    });
  }
  const names = [...files.keys()].sort();
  onFile(folder, () => {
    mkdirSync(folder, { recursive: true });
    writeManifest(folder, plan, [...new Set([...before.files, ...names])]);
    for (const name of readdirSync(folder)) {
      if (name !== MANIFEST) rmSync(join(folder, name), { recursive: true });
    }
    for (const [name, text] of files) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    writeManifest(folder, plan, names);
  });
}

function writeManifest(folder: string, plan: string, files: readonly string[]): void {
  const content = { about: 'Files written by svc-migrate apply --emit-sql', plan, files };
  writeFileSync(join(folder, MANIFEST), `${JSON.stringify(content, null, 2)}\n`);
}

function readManifest(folder: string): z.output<typeof manifestSchema> {
  try {
    return manifestSchema.parse(JSON.parse(readFileSync(join(folder, MANIFEST), 'utf8')));
  } catch {
    return { plan: '', files: [] };
  }
}
