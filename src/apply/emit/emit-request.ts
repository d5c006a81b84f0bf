import type { ApplyTarget } from '../../config/apply-targets.js';
import { SERVERS } from '../../domain.js';
import { SvcError } from '../../errors.js';

const WAREHOUSES = ['duckdb', 'clickhouse', 'spark', 'bigquery', 'snowflake'] as const;
export type Warehouse = (typeof WAREHOUSES)[number];

/** What `--emit-sql` takes. */
export const EMIT_DIALECTS = [...SERVERS.map(({ kind }) => kind), 'sqlite', ...WAREHOUSES] as const;
type EmitDialect = (typeof EMIT_DIALECTS)[number];

/** Where the SQL goes: folders of migration tools, or plain files. */
export const LAYOUTS = ['plain', 'flyway', 'liquibase', 'prisma', 'rails', 'knex'] as const;
export type Layout = (typeof LAYOUTS)[number];

/** What `--emit-sql` writes, and where. */
export interface EmitRequest {
  readonly dialect: EmitDialect;
  readonly layout: Layout;
  readonly folder: string;
  /** The time in the names of the files and of the run; null: the time at which the remap was built. */
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
  const text = `Target ${other.name} is of kind ${other.kind}, and --emit-sql ${dialect} takes tables of kind ${expected}.`;
  throw new SvcError('usage', text, {
    hint: 'Name the targets to write SQL for: `svc-migrate apply --emit-sql … ORDERS LINES`.',
  });
}
