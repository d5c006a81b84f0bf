import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SvcError } from '../../errors.js';
import { onFile } from '../../runtime/write-output.js';
import { wrapLines } from '../../text/text-layout.js';
import {
  type ApplyResult,
  type ApplyTask,
  confirmPlan,
  describeBlocked,
  planSha256,
  runName,
} from '../actions.js';
import { addedColumns } from '../engine/id-columns.js';
import { judgeEmit } from '../judge-plan.js';
import type { Plan } from '../plan.js';
import { type OpenStore, survey } from '../stores.js';
import type { EmitRequest } from './layouts.js';
import { type EmittedFiles, layOut, layoutNote, migrationName, PRODUCTS, versionIn } from './layouts.js';

const ABOUT =
  'Nothing was changed. Run the SQL through your pipeline: it checks that the data are as planned, and records the run in the ledger.';

/**
 * Plans the targets and writes the plan as SQL into a folder. The database is only read.
 *
 * @throws SvcError `bad_input` if files of others have the names of ours, or the plan needs what only `apply` itself can do
 */
export async function emitSql(
  task: ApplyTask,
  agreed: Plan | null,
  request: EmitRequest,
): Promise<ApplyResult> {
  const { context, stores, targets, formatCommand } = task;
  const { dialect, layout, folder } = request;
  assertFolder(folder);
  const store = onlyStore(stores);
  const now = await survey(context, stores, targets);
  const plan = agreed === null ? now : await confirmPlan(stores, agreed, now);
  const verdict = judgeEmit(plan);
  if (verdict.exitCode !== 0) return describeBlocked('sql', task, plan, verdict);
  const sha256 = planSha256(agreed ?? now);
  const name = migrationName(sha256);
  // The same plan has the same run, and the same bytes, whenever it is printed.
  const run = runName(Date.parse(context.remapVersion.builtAt), sha256.slice(0, 6));
  const script = await store.emit(plan.targets, { run, planSha256: sha256, isExact: true });
  const version = versionIn(existsSync(folder) ? readdirSync(folder) : [], name, context.now());
  const migration = { script, name, version, dialect };
  const lines = headOf(PRODUCTS[dialect], run, name, plan);
  // SQLite cannot add a column only if it is missing.
  if (dialect === 'sqlite' && targets.some(({ ids }) => addedColumns(context.policy.mode, ids).length > 0))
    lines.push('A second run stops with an error at the first column that it would add, because it exists.');
  const files = layOut(layout, { ...migration, lines });
  writeFiles(folder, files, name);
  const note = layoutNote(layout, migration);
  const names = [...files.keys()];
  return {
    exitCode: 0,
    text: `Wrote SQL for ${PRODUCTS[dialect]} (${layout}) to ${folder}, as run ${run}:\n${names.map((name) => `  ${name}\n`).join('')}${wrapLines([ABOUT], task.width)}${note === null ? '' : `${note}\n`}`,
    json: {
      action: 'sql',
      dialect,
      layout,
      folder,
      run,
      files: names,
      remap: plan.remap,
      policy: plan.policy,
      values: script.values,
    },
    next: formatCommand('verify'),
    plan,
  };
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

function headOf(product: string, run: string, name: string, { tool, remap, targets }: Plan): string[] {
  return [
    `Rewrites V3 ids to V4 ids in ${product}: run ${run}`,
    `Written by ${tool} from the remap ${remap.sha256.slice(0, 16)}, as ${name}. Targets: ${targets.map((target) => target.name).join(', ')}`,
    'Running it again changes nothing. It fails before it changes anything if the data are not as planned.',
    'Run it with a client that stops at the first error.',
  ];
}

/** @throws SvcError `bad_input` if the folder is a file */
function assertFolder(folder: string): void {
  if (!existsSync(folder) || statSync(folder).isDirectory()) return;
  throw new SvcError('bad_input', `${folder} is a file, not a folder.`, {
    hint: 'Name a folder with --output: a new one, or the one with your migrations.',
  });
}

/**
 * Writes the files of a plan, and replaces what was printed of the same plan before. Other files stay.
 *
 * @throws SvcError `bad_input` if a file of another origin has one of their names; nothing was written
 */
function writeFiles(folder: string, files: EmittedFiles, name: string): void {
  for (const file of files.keys()) {
    const path = join(folder, file);
    if (!existsSync(path) || readFileSync(path, 'utf8').includes(name)) continue;
    throw new SvcError('bad_input', `${path} was not written by svc-migrate; nothing was written.`, {
      hint: 'Name another folder with --output.',
    });
  }
  onFile(folder, () => {
    for (const [file, text] of files) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), text);
    }
  });
}
