import { SvcError } from '../errors.js';
import { sha256Of } from '../runtime/sha256.js';
import type { RunFacts, WriteResult } from './context.js';
import { comparePlans } from './judge-plan.js';
import { NO_WORK, type Plan, renderPlan, type TargetPlan } from './plan.js';
import { listRuns, type OpenStore } from './stores.js';

const NAMED_CHANGES = 10;

/** The SHA-256 by which the ledger identifies a plan. What it locks is no part of it: that depends on options that a later command may change. */
export function planSha256(plan: Plan): string {
  const targets = plan.targets.map((target) => ({ ...target, work: NO_WORK }));
  return sha256Of(renderPlan({ ...plan, targets }));
}

/**
 * Compares the agreed plan with a plan made now. Targets that a run of the agreed plan has already started are not
 * compared, and take their current plan.
 *
 * @throws SvcError `bad_input`, listing the changes
 */
export async function confirmPlan(stores: readonly OpenStore[], agreed: Plan, now: Plan): Promise<Plan> {
  const started = new Set((await runsOfPlan(stores, planSha256(agreed))).map(({ target }) => target));
  const others = ({ name }: TargetPlan): boolean => !started.has(name);
  const changes = comparePlans(
    { ...agreed, targets: agreed.targets.filter(others) },
    { ...now, targets: now.targets.filter(others) },
  );
  if (changes.length === 0) {
    const current = (target: TargetPlan) => now.targets.find(({ name }) => name === target.name);
    const targets = agreed.targets.map((one) => (started.has(one.name) ? (current(one) ?? one) : one));
    return { ...agreed, targets };
  }
  const more = changes.length - NAMED_CHANGES;
  const lines = [...changes.slice(0, NAMED_CHANGES), ...(more > 0 ? [`… and ${more} more`] : [])];
  const text = `The data changed since the plan; nothing was written.\n${lines.map((line) => `  ${line}`).join('\n')}`;
  throw new SvcError('bad_input', text, { hint: 'Look at a new plan: `svc-migrate apply plan`.' });
}

/** Unfinished and finished runs of a plan. */
async function runsOfPlan(stores: readonly OpenStore[], sha256: string) {
  return (await listRuns(stores)).filter(
    ({ planSha256: own, state }) => own === sha256 && (state === 'working' || state === 'done'),
  );
}

/**
 * The run to continue: one that carries out the agreed plan, or one that left a table unfinished. The rest is written under
 * the same name, so that one undo covers all of it. `sha256`: the agreed plan's; null if there is none.
 */
export async function findUnfinished(
  stores: readonly OpenStore[],
  plan: Plan,
  sha256: string | null,
): Promise<string | null> {
  const [own] = sha256 === null ? [] : await runsOfPlan(stores, sha256);
  if (own !== undefined) return own.run;
  if (plan.policy.mode === 'new') return null;
  return plan.targets.find(({ earlier }) => earlier.state === 'unfinished')?.earlier.run ?? null;
}

/**
 * Carries out a plan, store by store.
 *
 * @throws SvcError `apply_stopped` if it stopped part-way, `interrupted`; other errors if nothing was written
 */
export async function writePlan(
  stores: readonly OpenStore[],
  plan: Plan,
  facts: RunFacts,
): Promise<WriteResult[]> {
  const written: WriteResult[] = [];
  for (const store of stores) {
    const own = plan.targets.filter(({ name }) => store.targets.includes(name));
    try {
      written.push(...(await store.write(own, facts)));
    } catch (error) {
      const carriedOn = own.flatMap(({ earlier: { state, run } }) =>
        state === 'unfinished' && run !== null ? [run] : [],
      );
      throw await describeStop(error, store, [facts.run, ...carriedOn], written);
    }
  }
  return written;
}

/** Turns an error into `apply_stopped` if the ledger records anything, or cannot be read; otherwise returns it unchanged. */
async function describeStop(
  error: unknown,
  store: OpenStore,
  runs: readonly string[],
  written: readonly WriteResult[],
): Promise<unknown> {
  if (!(error instanceof SvcError) || error.code === 'interrupted' || error.code === 'internal') return error;
  // Another process holds the file, so this one has not begun.
  if (error.facts['lock'] !== undefined && written.every(({ alreadyDone }) => alreadyDone)) return error;
  const started = await startedRuns(store, runs);
  const done = written.filter((one) => !one.alreadyDone && one.changed > 0).map(({ run }) => run);
  if (started?.length === 0 && done.length === 0) return error;
  const names = [...new Set([...done, ...(started ?? [])])];
  const undo = (names.length === 0 ? runs.slice(0, 1) : names.toReversed())
    .map((name) => `\`svc-migrate apply undo ${name}\``)
    .join(', then ');
  const where =
    started === null
      ? 'The ledger could not be read for its progress.'
      : `The ledger records it as run ${names.join(', ')}.`;
  return new SvcError('apply_stopped', `Stopped part-way: ${error.message} ${where}`, {
    hint: `${error.hint ?? 'Fix what stopped it.'} Then run the same command again to continue, or ${undo}.`,
    facts: error.facts,
    cause: error,
  });
}

/** Which of these runs the ledger records: the first in any state, others if unfinished. Null if it cannot be read. */
async function startedRuns(store: OpenStore, runs: readonly string[]): Promise<string[] | null> {
  try {
    const begun = (await store.runs()).filter(
      ({ run, state }) =>
        runs.includes(run) && (state === 'working' || (run === runs[0] && state === 'done')),
    );
    return begun.map(({ run }) => run);
  } catch {
    return null;
  }
}

/** A name for a run that people can read, such as `20261120-141000-3f9a`. */
export function runName(ms: number, suffix: string): string {
  const time = new Date(ms).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
  return `${time}-${suffix}`;
}
