import type { ApplyTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import { didYouMean } from '../../text/suggest.js';

const DATABASES = ['postgres', 'mysql', 'sqlite'] as const;
const WAREHOUSES = ['duckdb', 'clickhouse', 'spark', 'bigquery', 'snowflake'] as const;
export type Warehouse = (typeof WAREHOUSES)[number];
type EmitDialect = (typeof DATABASES)[number] | Warehouse;

/** Where the SQL goes: folders of migration tools, or plain files. */
const LAYOUTS = ['plain', 'flyway', 'liquibase', 'prisma', 'rails', 'knex'] as const;
export type Layout = (typeof LAYOUTS)[number];

/** What `--emit-sql` writes, and where. */
export interface EmitRequest {
  readonly dialect: EmitDialect;
  readonly layout: Layout;
  readonly folder: string;
  /** The time that names the files and the run; null: when the remap was built. */
  readonly atMs: number | null;
  /** Where the warehouse finds the folder of `dump --format parquet`; null: the crosswalk is part of the SQL. */
  readonly parquet: string | null;
}

/** SQL for a warehouse. */
export interface WarehouseRequest extends Pick<EmitRequest, 'parquet'> {
  readonly warehouse: Warehouse;
}

/** The warehouse to write SQL for; null: the SQL is for a database. */
export function warehouseOf({
  dialect,
  parquet,
}: Pick<EmitRequest, 'dialect' | 'parquet'>): WarehouseRequest | null {
  const warehouse = WAREHOUSES.find((name) => name === dialect);
  return warehouse === undefined ? null : { warehouse, parquet };
}

/** @throws SvcError `usage` */
export function parseDialect(name: string): EmitDialect {
  return parseName('--emit-sql takes a database or warehouse', name, [...DATABASES, ...WAREHOUSES]);
}

/** @throws SvcError `usage` */
export function parseLayout(name: string): Layout {
  return parseName('--layout takes a migration tool', name, LAYOUTS);
}

function parseName<T extends string>(expected: string, name: string, known: readonly T[]): T {
  const found = known.find((one) => one === name);
  if (found !== undefined) return found;
  const hint = didYouMean(name, known) ?? `Known: ${known.join(', ')}.`;
  throw new SvcError('usage', `${expected}, not "${name}".`, { hint });
}

/** @throws SvcError `usage` if a target is of another kind */
export function assertTargetKinds(targets: readonly ApplyTarget[], request: EmitRequest): void {
  const { dialect, parquet } = request;
  const isDatabase = warehouseOf(request) === null;
  if (isDatabase && parquet !== null)
    throw new SvcError(
      'usage',
      `--crosswalk is for warehouses, and --emit-sql ${dialect} holds its crosswalk.`,
    );
  const expected = isDatabase ? dialect : 'warehouse';
  const other = targets.find(({ kind }) => kind !== expected);
  if (other === undefined) return;
  throw new SvcError(
    'usage',
    `Target ${other.name} is of kind ${other.kind}, and --emit-sql ${dialect} takes tables of kind ${expected}.`,
    { hint: 'Name the targets to write SQL for: `svc-migrate apply --emit-sql … ORDERS LINES`.' },
  );
}
