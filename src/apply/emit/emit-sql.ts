import type { ApplyTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import { didYouMean } from '../../text/suggest.js';
import { type ApplyResult, type ApplyTask, describeBlocked } from '../actions.js';
import { judgeEmit } from '../judge-plan.js';
import type { Plan } from '../plan.js';
import { type OpenStore, survey } from '../stores.js';
import { confirmPlan, planSha256 } from '../write-plan.js';
import type { SqlScript } from './build-script.js';
import { LAYOUTS, type Layout, layOut } from './layouts.js';
import { WAREHOUSE_TEXTS, type Warehouse } from './warehouse-texts.js';
import { assertOwnFolder, writeFolder } from './write-folder.js';

const DATABASES = ['postgres', 'mysql', 'sqlite'] as const;
type Database = (typeof DATABASES)[number];
export type EmitDialect = Database | Warehouse;

const isWarehouse = (name: string): name is Warehouse => Object.hasOwn(WAREHOUSE_TEXTS, name);
const isDatabase = (name: string): name is Database => DATABASES.some((one) => one === name);

export interface EmitRequest {
  readonly dialect: EmitDialect;
  readonly layout: Layout;
  readonly folder: string;
  /** The time that the files and the run are named by; null: when the remap was built. */
  readonly atMs: number | null;
}

const ABOUT_DATABASES =
  'Nothing was changed. The SQL checks that the data are as planned, and records the run in the ledger.';
const ABOUT_WAREHOUSES = 'Nobody looked at the tables. The SQL checks them before it changes anything.';

/** @throws SvcError `usage` */
export function parseDialect(name: string): EmitDialect {
  if (isDatabase(name) || isWarehouse(name)) return name;
  throw unknownName('--emit-sql takes a database or warehouse', name, [
    ...DATABASES,
    ...Object.keys(WAREHOUSE_TEXTS),
  ]);
}

/** @throws SvcError `usage` */
export function parseLayout(name: string): Layout {
  const found = LAYOUTS.find((one) => one === name);
  if (found === undefined) throw unknownName('--layout takes a migration tool', name, LAYOUTS);
  return found;
}

function unknownName(what: string, name: string, known: readonly string[]): SvcError {
  const hint = didYouMean(name, known) ?? `Known: ${known.join(', ')}.`;
  return new SvcError('usage', `${what}, not "${name}".`, { hint });
}

/** @throws SvcError `usage` if a target is of another kind */
export function assertTargetKinds(targets: readonly ApplyTarget[], dialect: EmitDialect): void {
  const expected = isWarehouse(dialect) ? 'warehouse' : dialect;
  const other = targets.find(({ kind }) => kind !== expected);
  if (other === undefined) return;
  throw new SvcError(
    'usage',
    `Target ${other.name} is of kind ${other.kind}, and --emit-sql ${dialect} takes tables of kind ${expected}.`,
    {
      hint: 'Name the targets to write SQL for: `svc-migrate apply --emit-sql … ORDERS LINES`.',
    },
  );
}

/**
 * Plans the targets and writes the plan as SQL into a folder. The database is only read.
 *
 * @throws SvcError `bad_input` if the folder holds other files, or only `apply` itself can do it
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
  const atMs = request.atMs ?? Date.parse(context.facts.builtAt);
  const time = new Date(atMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
  const run = `${time}-${sha256.slice(0, 6)}`;
  const script = await store.emit(
    plan.targets,
    { run, planSha256: sha256, isExact: true },
    isWarehouse(dialect) ? dialect : null,
  );
  const files = layOut(layout, script, { atMs, lines: headOf(script, run, plan) });
  writeFolder(folder, files);
  const names = [...files.keys()];
  return {
    exitCode: 0,
    text: `Wrote SQL for ${script.title} (${layout}) to ${folder}, as run ${run}:\n${names.map((name) => `  ${name}\n`).join('')}${isWarehouse(dialect) ? ABOUT_WAREHOUSES : ABOUT_DATABASES}\n`,
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
    next: `run the SQL through your pipeline, then ${isWarehouse(dialect) ? 'verify.sql, which must say 0' : formatCommand('apply', '--verify')}`,
    plan,
  };
}

/** @throws SvcError `usage` */
function onlyStore(stores: readonly OpenStore[]): Required<Pick<OpenStore, 'emit'>> {
  const [store, other] = stores;
  if (store?.emit === undefined) throw new Error('a store without SQL');
  if (other === undefined) return { emit: store.emit };
  throw new SvcError(
    'usage',
    `The targets ${store.targets[0]} and ${other.targets[0]} are in different databases.`,
    {
      hint: 'Write the SQL for one database at a time: name its targets.',
    },
  );
}

function headOf({ title }: SqlScript, run: string, { tool, remap, targets }: Plan): string[] {
  return [
    `svc_ids of V3 to V4, for ${title}: run ${run}`,
    `Written by ${tool} from the remap ${remap.sha256.slice(0, 16)}. Targets: ${targets.map(({ name }) => name).join(', ')}`.replaceAll(
      /[\r\n]/g,
      ' ',
    ),
    'Running it again changes nothing. It fails before it changes anything if the data are not as planned.',
    'Run it with a client that stops at the first error.',
  ];
}
