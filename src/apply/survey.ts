import type { ApplyTarget } from '../config/apply-targets.js';
import type { ApplyContext, SurveyOptions } from './context.js';
import type { OpenStore } from './open-stores.js';
import { PLAN_VERSION, type Plan, type TargetPlan } from './plan.js';
import { refuseSharedPlaces } from './shared-places.js';

/**
 * Looks at every target and says what apply would do; changes nothing. The targets come in the order they were
 * asked for.
 *
 * @throws SvcError `bad_input`, `config`, `locked`, `interrupted`
 */
export async function survey(
  context: ApplyContext,
  stores: readonly OpenStore[],
  targets: readonly Pick<ApplyTarget, 'name'>[],
  options: SurveyOptions = {},
): Promise<Plan> {
  const found: TargetPlan[] = [];
  const storeOf = new Map(stores.flatMap((store, at) => store.targets.map((name) => [name, at] as const)));
  for (const store of stores) {
    context.onProgress({
      kind: 'step',
      name: `looking at ${store.targets.join(', ')}`,
      done: 0,
      total: null,
    });
    found.push(...(await store.survey(options)));
  }
  const order = targets.map(({ name }) => name);
  return {
    planVersion: PLAN_VERSION,
    tool: context.tool,
    remap: { sha256: context.facts.sha256, builtAt: context.facts.builtAt },
    policy: context.policy,
    targets: refuseSharedPlaces(
      found.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name)),
      storeOf,
    ),
  };
}
