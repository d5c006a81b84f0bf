import type { WarehouseTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import { checkColumn } from '../column-work.js';
import type { ApplyContext, DataStore } from '../context.js';
import { NO_WORK } from '../estimate.js';
import { blocks, NO_EARLIER, type TargetPlan } from '../plan.js';
import { buildWarehouseScript } from './warehouse-script.js';

/** Tables of a warehouse. It is never connected to: only SQL is written for it. */
export function openWarehouseStore(context: ApplyContext, targets: readonly WarehouseTarget[]): DataStore {
  const refuse = () => Promise.reject(new SvcError('usage', WAREHOUSE_NOTE));
  return {
    runs: async () => [],
    survey: async () => targets.map((target) => describeTarget(context, target)),
    emit: async (agreed, run, warehouse) => {
      const own = targets.filter(({ name }) => agreed.some((plan) => plan.name === name));
      if (warehouse === null) return refuse();
      return buildWarehouseScript(context, own, run, warehouse);
    },
    write: refuse,
    undo: async () => [],
    verify: async () => [],
    close: async () => {},
  };
}

const WAREHOUSE_NOTE =
  'svc-migrate does not connect to warehouses: --emit-sql duckdb, clickhouse, spark, bigquery or snowflake writes the SQL.';

function describeTarget(context: ApplyContext, target: WarehouseTarget): TargetPlan {
  return {
    name: target.name,
    kind: target.kind,
    place: `table ${target.table} of a warehouse`,
    definition: target,
    output: null,
    rows: 0,
    columns: [],
    earlier: NO_EARLIER,
    notes: [blocks('warehouse', WAREHOUSE_NOTE), ...target.ids.flatMap((id) => checkColumn(context, id))],
    fingerprint: '',
    estimate: NO_WORK,
  };
}
