import type { ApplyContext, DataStore } from '../../../src/apply/context.js';
import type { TargetPlan } from '../../../src/apply/plan.js';
import type {
  MysqlTarget,
  PostgresTarget,
  SqliteTarget,
  TableTarget,
} from '../../../src/config/apply-targets.js';
import { openContext } from './remap.js';
import { tapDriver } from './tap-driver.js';

/**
 * Waits for an order on its input, carries it out, and kills itself before the given step (SQLite: a statement;
 * a server: a query about to be sent, then just sent). Says how many steps and how long it took, where it lives.
 */
export interface Order {
  readonly kind: TableTarget['kind'];
  /** Connection string of a server, or the file. */
  readonly url: string;
  readonly remap: string;
  readonly targets: readonly TableTarget[];
  readonly policy: ApplyContext['policy'];
  /** What was agreed to. */
  readonly plans: readonly TargetPlan[];
  readonly batchRows: number;
  readonly work: 'write' | 'undo';
  readonly run: string;
  /** The step before which it dies, counted from 0; null: none. */
  readonly dieAt: number | null;
}

let steps = 0;
let dieAt: number | null = null;

function step(): void {
  if (steps === dieAt) process.kill(process.pid, 'SIGKILL');
  steps += 1;
}

/** Loads what the place needs, and nothing else: most of a child's short life is spent on that. */
async function openStore({ kind, url, targets }: Order, context: ApplyContext): Promise<DataStore> {
  if (kind === 'sqlite') {
    const { openSqliteStore } = await import('../../../src/apply/dialects/sqlite-dialect.js');
    const own = targets.filter((one): one is SqliteTarget => one.kind === 'sqlite');
    return openSqliteStore(context, url, own);
  }
  if (kind === 'mysql') {
    const { openMysqlStore } = await import('../../../src/apply/dialects/mysql-dialect.js');
    return openMysqlStore(
      context,
      targets.filter((one): one is MysqlTarget => one.kind === 'mysql'),
    );
  }
  const { openPostgresStore } = await import('../../../src/apply/dialects/postgres-dialect.js');
  return openPostgresStore(
    context,
    targets.filter((one): one is PostgresTarget => one.kind === 'postgres'),
  );
}

async function carryOut(order: Order): Promise<void> {
  const context = {
    ...openContext(order.remap, order.policy, order),
    env: { TEST_URL: order.url },
  };
  const store = await openStore(order, context);
  await tapDriver(order.kind, step);
  dieAt = order.dieAt;
  process.stdout.write('working\n');
  const started = performance.now();
  if (order.work === 'undo') await store.undo(order.run);
  else await store.write(order.plans, { run: order.run, planSha256: 'p', isExact: true });
  const took = performance.now() - started;
  dieAt = null;
  await store.close();
  process.stdout.write(`${JSON.stringify({ steps, tookMs: took })}\n`);
}

// Loaded while it waits.
if (process.argv[2] === 'sqlite') await import('../../../src/apply/dialects/sqlite-dialect.js');
else if (process.argv[2] === 'mysql') await import('../../../src/apply/dialects/mysql-dialect.js');
else await import('../../../src/apply/dialects/postgres-dialect.js');

let input = '';
process.stdin.on('data', (bytes: Buffer) => {
  input += bytes.toString('latin1');
  if (!input.endsWith('\n')) return;
  process.stdin.destroy();
  carryOut(JSON.parse(Buffer.from(input, 'latin1').toString('utf8')) as Order).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exitCode = 1;
  });
});
