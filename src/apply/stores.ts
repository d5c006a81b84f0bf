import type { ApplyTarget } from '../config/apply-targets.js';
import type { ApplyContext, DataStore, SurveyOptions } from './context.js';
import { blocks, type Note, PLAN_VERSION, type Plan, type TargetPlan } from './plan.js';
import { fileIdentity, isSharedPlace, placeKey, targetKind } from './target-kinds.js';

/** A store, and the names of its targets. */
export interface OpenStore extends DataStore {
  readonly targets: readonly string[];
}

/** Opens one store for each database, whose tables may depend on each other, and one for each file. */
export async function openStores(
  context: ApplyContext,
  targets: readonly ApplyTarget[],
): Promise<OpenStore[]> {
  const places = new Map<string, ApplyTarget[]>();
  for (const [at, target] of targets.entries()) {
    const key = isSharedPlace(target) ? placeKey(target) : String(at);
    places.set(key, [...(places.get(key) ?? []), target]);
  }
  const stores: OpenStore[] = [];
  for (const own of places.values()) {
    const [first] = own;
    if (first !== undefined) stores.push(withNames(await targetKind(first).open(context, own), own));
  }
  return stores;
}

function withNames(store: DataStore, targets: readonly ApplyTarget[]): OpenStore {
  return { ...store, targets: targets.map(({ name }) => name) };
}

/** Closes every store, even if closing one fails. */
export async function closeStores(stores: readonly DataStore[]): Promise<void> {
  await Promise.allSettled(stores.map((store) => store.close()));
}

/**
 * Plans every target without changing anything. The plan keeps the order of `targets`.
 *
 * @throws SvcError `bad_input`, `config`, `locked`, `interrupted`
 */
export async function survey(
  { onProgress, tool, facts, policy }: ApplyContext,
  stores: readonly OpenStore[],
  targets: readonly Pick<ApplyTarget, 'name'>[],
  options: SurveyOptions = {},
): Promise<Plan> {
  const found: TargetPlan[] = [];
  for (const store of stores) {
    const name = `looking at ${store.targets.join(', ')}`;
    onProgress({ kind: 'step', name, done: 0, total: null });
    found.push(...(await store.survey(options)));
  }
  const order = targets.map(({ name }) => name);
  found.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
  return {
    planVersion: PLAN_VERSION,
    tool,
    remap: { sha256: facts.sha256, builtAt: facts.builtAt },
    policy,
    targets: refuseSharedPlaces(found, stores),
  };
}

interface Place {
  readonly target: TargetPlan;
  readonly input: string;
  /** Where the result is written. */
  readonly output: string;
}

/**
 * Blocks targets of different stores that write the same file or table, or where one writes what another reads. Each
 * store compares its own targets.
 */
function refuseSharedPlaces(plans: readonly TargetPlan[], stores: readonly OpenStore[]): TargetPlan[] {
  const places = plans.map((target): Place => {
    const { definition, output, place } = target;
    const input = 'file' in definition ? fileIdentity(definition.file) : place;
    return { target, input, output: output === null ? input : fileIdentity(output) };
  });
  return places.map((one, at) => {
    const own = stores.find(({ targets }) => targets.includes(one.target.name));
    const others = places.slice(0, at).filter(({ target }) => own?.targets.includes(target.name) !== true);
    const notes = others.flatMap((other) => sharedNotes(one, other));
    return notes.length === 0 ? one.target : { ...one.target, notes: [...one.target.notes, ...notes] };
  });
}

function sharedNotes(one: Place, other: Place): Note[] {
  const { name } = other.target;
  if (one.input === other.input)
    return [blocks('same_file', `Target ${name} names the same file or table: name all its columns there.`)];
  if (one.output === other.output)
    return [blocks('same_output', `${one.target.output} is the output of target ${name} too: name another.`)];
  if (one.output === other.input || one.input === other.output)
    return [
      blocks('same_output', `The output of one is the input of the other, ${name}: name another output.`),
    ];
  return [];
}
