import { SvcError } from '../errors.js';
import { sha256Of } from '../runtime/sha256.js';
import type { LedgerRun, Written } from './context.js';
import type { OpenStore } from './open-stores.js';
import { comparePlans, type Plan, type TargetPlan } from './plan.js';
import { renderPlan } from './plan-file.js';

const NAMED_CHANGES = 10;

/** The name a plan goes by in the ledger. */
export function planSha256(plan: Plan): string {
  return sha256Of(renderPlan(plan));
}

/**
 * Holds a plan that was agreed to against the one of now. Targets that a run of this very plan has begun are carried
 * on as they stand by now.
 *
 * @throws SvcError `bad_input` naming what changed
 */
export async function confirmPlan(stores: readonly OpenStore[], agreed: Plan, now: Plan): Promise<Plan> {
  const begun = await findBegun(stores, planSha256(agreed));
  const without = (plan: Plan): Plan => ({
    ...plan,
    targets: plan.targets.filter(({ name }) => !begun.has(name)),
  });
  const changes = comparePlans(without(agreed), without(now));
  if (changes.length > 0) throw changed(changes);
  const byName = new Map(now.targets.map((target) => [target.name, target]));
  const keep = (target: TargetPlan) =>
    begun.has(target.name) ? (byName.get(target.name) ?? target) : target;
  return { ...agreed, targets: agreed.targets.map(keep) };
}

async function findBegun(stores: readonly OpenStore[], sha256: string): Promise<Set<string>> {
  const begun = new Set<string>();
  for (const store of stores) {
    for (const { planSha256: own, state, target } of await store.runs()) {
      if (own === sha256 && (state === 'working' || state === 'done')) begun.add(target);
    }
  }
  return begun;
}

/**
 * The run that is to be gone on with: one of the agreed plan, or one that left a table unfinished. What it did not get
 * to is done under its name, so that one undo takes all of it back. `sha256`: of the agreed plan, null where there is
 * none.
 */
export async function findUnfinished(
  stores: readonly OpenStore[],
  plan: Plan,
  sha256: string | null,
): Promise<string | null> {
  for (const store of sha256 === null ? [] : stores) {
    const own = (await store.runs()).find(
      (one) => one.planSha256 === sha256 && (one.state === 'working' || one.state === 'done'),
    );
    if (own !== undefined) return own.run;
  }
  if (plan.policy.mode === 'new') return null;
  return plan.targets.find(({ earlier }) => earlier.state === 'unfinished')?.earlier.run ?? null;
}

function changed(changes: readonly string[]): SvcError {
  const more = changes.length - NAMED_CHANGES;
  const lines = [
    ...changes.slice(0, NAMED_CHANGES).map((line) => `  ${line}`),
    ...(more > 0 ? [`  … and ${more} more`] : []),
  ];
  return new SvcError(
    'bad_input',
    `This is not what was planned for any more; nothing was written.\n${lines.join('\n')}`,
    { hint: 'Look at a new plan: the same command without --yes.' },
  );
}

export interface PlanToWrite {
  readonly plan: Plan;
  /** Of the plan as it was agreed to. */
  readonly planSha256: string;
  readonly run: string;
  /** The data must be exactly as planned. */
  readonly isExact: boolean;
}

/**
 * Carries a plan out, place by place.
 *
 * @throws SvcError `apply_stopped` where it was stopped part-way, `interrupted`; other errors where nothing of it
 * was written
 */
export async function writePlan(
  stores: readonly OpenStore[],
  { plan, planSha256: sha256, run, isExact }: PlanToWrite,
): Promise<Written[]> {
  const written: Written[] = [];
  for (const store of stores) {
    const own = plan.targets.filter(({ name }) => store.targets.includes(name));
    try {
      written.push(...(await store.write(own, { run, planSha256: sha256, isExact })));
    } catch (error) {
      throw await describeStop(error, store, runsOf(run, own), written);
    }
  }
  return written;
}

/** The run itself, and unfinished ones that are carried on. */
function runsOf(run: string, targets: readonly TargetPlan[]): string[] {
  const earlier = targets.flatMap(({ earlier: { state, run: name } }) =>
    state === 'unfinished' && name !== null ? [name] : [],
  );
  return [run, ...earlier];
}

/** Part-way, where the ledger knows of anything; as it is, where not. */
async function describeStop(
  error: unknown,
  store: OpenStore,
  runs: readonly string[],
  written: readonly Written[],
): Promise<unknown> {
  if (error instanceof SvcError && (error.code === 'interrupted' || error.code === 'internal')) return error;
  if (!(error instanceof SvcError)) return error;
  const begun = await runsBegun(store, runs);
  const done = written.filter((one) => !one.alreadyDone && one.changed > 0);
  if (begun !== null && begun.length === 0 && done.length === 0) return error;
  const names = [...new Set([...done.map((one) => one.run), ...(begun ?? []).map((one) => one.run)])];
  const undo = (names.length === 0 ? runs.slice(0, 1) : names.toReversed())
    .map((name) => `\`svc-migrate undo ${name}\``)
    .join(', then ');
  const where =
    begun === null
      ? 'The ledger could not be asked how far it came.'
      : `The ledger has it as run ${names.join(', ')}.`;
  return new SvcError('apply_stopped', `Stopped part-way: ${error.message} ${where}`, {
    hint: `${error.hint ?? 'Mend what stopped it.'} Then run the same command again to go on, or ${undo}.`,
    facts: error.facts,
    cause: error,
  });
}

/** The first of these runs where the ledger knows it, others where they are under way; null where it cannot be read. */
async function runsBegun(store: OpenStore, runs: readonly string[]): Promise<LedgerRun[] | null> {
  try {
    const [own] = runs;
    return (await store.runs()).filter(
      ({ run, state }) => runs.includes(run) && (state === 'working' || (run === own && state === 'done')),
    );
  } catch {
    return null;
  }
}
