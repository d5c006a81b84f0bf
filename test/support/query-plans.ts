import type { Db } from '../../src/store/open.js';

/** A step of a plan; `parent` is the id of the step that it is part of. */
interface Step {
  readonly id: bigint;
  readonly parent: bigint;
  readonly detail: string;
}

/** The statements that `work` prepares, with their plans. */
export function plansOf(
  db: Db,
  work: () => void,
): { readonly sql: string; readonly steps: readonly Step[] }[] {
  const prepare = db.prepare.bind(db);
  const plans: { sql: string; steps: Step[] }[] = [];
  db.prepare = ((sql: string) => {
    const parameters = Object.fromEntries([...sql.matchAll(/@(\w+)/g)].map(([, name]) => [name, null]));
    const places = Array.from(sql.matchAll(/\?/g), () => null);
    const explain = prepare<unknown[], Step>(`EXPLAIN QUERY PLAN ${sql}`);
    plans.push({
      sql,
      steps: explain.all(...places, ...(Object.keys(parameters).length > 0 ? [parameters] : [])),
    });
    return prepare(sql);
  }) as typeof db.prepare;
  try {
    work();
  } finally {
    db.prepare = prepare as typeof db.prepare;
  }
  return plans;
}

/** The steps that read all rows again for each row of another step: the work grows with the product of both. */
export function scansInLoops(steps: readonly Step[]): string[] {
  const isInLoop = ({ parent }: Step): boolean => {
    if (parent === 0n) return false;
    const outer = steps.find((step) => step.id === parent);
    return outer !== undefined && (/^CORRELATED/.test(outer.detail) || isInLoop(outer));
  };
  const isJoined = ({ id, parent }: Step): boolean =>
    steps.some((step) => step.parent === parent && step.id < id && /^(SCAN|SEARCH) /.test(step.detail));
  return steps
    .filter((step) => /^SCAN /.test(step.detail) && (isJoined(step) || isInLoop(step)))
    .map(({ detail }) => detail);
}
