import { isDeepStrictEqual } from 'node:util';
import type { Plan } from '../apply/plan.js';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import type { ApplyRequest } from './apply-request.js';
import type { Source } from './command-line.js';

/**
 * A plan says everything itself: what is said again beside it must be the same, as must the targets that the
 * configuration describes.
 *
 * @throws SvcError `usage`, `bad_input`
 */
export function assertSameRequest(plan: Plan, request: ApplyRequest, config: Config): void {
  const { asked, source, targets } = request;
  const isNarrowed = source.kind !== 'configured';
  const { policy } = plan;
  const others = Object.entries(asked).filter(([name, value]) =>
    Object.entries(policy).some(([own, was]) => own === name && was !== value),
  );
  const planned = plan.targets.map(({ name }) => name);
  const named = targets.map(({ name }) => name);
  if (others.length > 0 || (isNarrowed && !isDeepStrictEqual([...named].sort(), [...planned].sort()))) {
    const what =
      others.length > 0
        ? `policy (${others.map(([name]) => name).join(', ')})`
        : `targets (${planned.join(', ')})`;
    throw new SvcError('usage', `The plan was made with another ${what}.`, {
      hint: 'Leave out what the plan says itself, or plan again.',
    });
  }
  const current = source.kind === 'given' ? targets : config.apply.targets;
  for (const { name, definition } of plan.targets) {
    const own = current.find((target) => target.name === name);
    if (own === undefined || isDeepStrictEqual(own, definition)) continue;
    throw new SvcError(
      'bad_input',
      `Target ${name} is described otherwise now than in the plan; nothing was written.`,
      {
        hint: 'Plan again: the same command without --yes.',
      },
    );
  }
}

/** Where a plan's targets can be found again: in the configuration, or described by options. */
export function sourceOfPlan({ targets }: Plan, config: Config): Source {
  const known = config.apply.targets.map(({ name }) => name);
  const names = targets.map(({ name }) => name);
  const [only] = targets;
  if (only !== undefined && targets.length === 1 && !known.includes(only.name)) {
    return { kind: 'given', target: only.definition };
  }
  return names.length === known.length ? { kind: 'configured' } : { kind: 'named', names };
}
