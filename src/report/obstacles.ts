import type { ReportLimit } from '../domain.js';
import { outcomeKey } from '../reasons.js';
import { compare, groupBy } from '../text/rows.js';

/** What one failed limit refuses: findings of one reason, or a counter. */
export interface RefusedFindings {
  /** `status/reason`, or the name of a counter. */
  readonly key: string;
  readonly limit: ReportLimit;
  readonly v3: { readonly records: number; readonly lineItems: number };
  readonly v4: { readonly records: number; readonly lineItems: number };
  /** Everything of this key that the limit judged. */
  readonly count: number;
  /** By model, highest count first. */
  readonly models: readonly { readonly model: string; readonly count: number }[];
}

type Contributors = ReportLimit['contributors'];

/** What the failed limits refuse, largest first. Line items of a record without a twin count under its reason. */
export function listObstacles(limits: readonly ReportLimit[]): RefusedFindings[] {
  return limits
    .filter(({ pass }) => !pass)
    .flatMap((limit) =>
      limit.contributors.length === 0
        ? [describeObstacle(limit.name, limit, [])]
        : [...groupBy(limit.contributors, ({ key }) => bareKey(key))].map(([key, rows]) =>
            describeObstacle(key, limit, rows),
          ),
    )
    .sort((a, b) => b.count - a.count || compare(a.key, b.key));
}

function bareKey(key: string): string {
  const [status = '', reason = null] = key.split('/');
  return outcomeKey(status, reason);
}

function describeObstacle(key: string, limit: ReportLimit, rows: Contributors): RefusedFindings {
  const sum = (wanted: Contributors) => wanted.reduce((all, { count }) => all + count, 0);
  const ofUnit = (unit: string) => sum(rows.filter((row) => row.unit === unit));
  const models = [...groupBy(rows, ({ model }) => model)]
    .map(([model, own]) => ({ model, count: sum(own) }))
    .sort((a, b) => b.count - a.count || compare(a.model, b.model));
  return {
    key,
    limit,
    v3: { records: ofUnit('v3_record'), lineItems: ofUnit('v3_line_item') },
    v4: { records: ofUnit('v4_record'), lineItems: ofUnit('v4_line_item') },
    count: sum(rows),
    models,
  };
}
