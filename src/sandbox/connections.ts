import type { Scenario } from './fate.js';
import { hashOf, mix } from './random.js';

/** A connected company as one generation lists it. */
export interface Company {
  readonly id: bigint;
  /** The V3 region; null in V4. */
  readonly region: string | null;
  /** Place of its connection in the list of all. */
  readonly connection: number;
}

/**
 * `inert`: V4 lists the company and holds nothing of it. `ambiguous`: one V3 company became two in V4, or two
 * became one. The missing ones exist on one side only.
 */
type ConnectionKind = 'normal' | 'inert' | 'missing_in_v4' | 'missing_in_v3' | 'ambiguous';

/** One connection of a customer's platform, with the companies that stand for it on each side. */
export interface Connection {
  readonly kind: ConnectionKind;
  readonly v3: readonly Company[];
  readonly v4: readonly Company[];
  /** Share of all records, relative to the other connections. */
  readonly weight: number;
}

export interface ConnectionOptions {
  readonly seed: number;
  readonly scenario: Scenario;
  /** Normal connections. */
  readonly companies: number;
  /** Whether V4 took the companies' ids over; else the normal ones swapped them. */
  readonly idsSurvive: boolean;
}

/** The regions of V3 in a scenario. */
export function regionsOf(scenario: Scenario): readonly string[] {
  return scenario === 'clean' ? ['default'] : ['eu', 'us'];
}

interface Ref {
  readonly region: string;
  readonly id: bigint;
}

/** Two ids that a double cannot tell apart. */
const LARGE = 2n ** 53n;

/**
 * Plans the connections. V4 companies without records keep the V3 id, because nothing else could tell whose
 * they are; companies that exist on one side only have an id that the other side does not use.
 */
export function planConnections(options: ConnectionOptions): readonly Connection[] {
  const base = 3 + (hashOf(options.seed, 'company') % 40);
  const plan = new Plan();
  planNormal(plan, options, base);
  const special = BigInt(base + 2 * options.companies + 40);
  if (options.scenario === 'clean') {
    plan.add('inert', [{ region: 'default', id: special }], [special]);
    return plan.connections;
  }
  plan.add('inert', [{ region: 'eu', id: special }], [special]);
  plan.add('missing_in_v4', [{ region: 'eu', id: LARGE }], []);
  plan.add('missing_in_v4', [{ region: 'us', id: special + 1n }], []);
  plan.add('missing_in_v3', [], [special + 2n]);
  const split = options.idsSurvive ? special + 3n : special + 4n;
  plan.add('ambiguous', [{ region: 'us', id: special + 3n }], [split, special + 5n]);
  const merged = [
    { region: 'eu', id: special + 6n },
    { region: 'us', id: special + 7n },
  ];
  plan.add('ambiguous', merged, [options.idsSurvive ? special + 6n : special + 8n]);
  return plan.connections;
}

function planNormal(plan: Plan, options: ConnectionOptions, base: number): void {
  const refs = normalRefs(options, base);
  const fresh = BigInt(base + options.companies + 20);
  const ids = refs.map((ref, index) => (ref.region === 'us' ? fresh + BigInt(index) : ref.id));
  const shift = options.idsSurvive ? 0 : 1 + (mix(base, options.seed) % Math.max(1, ids.length - 1));
  for (const [index, ref] of refs.entries()) {
    const id = ids[(index + shift) % ids.length];
    if (id !== undefined) plan.add('normal', [ref], [id]);
  }
}

/** In the ugly scenario both regions count their companies from the same number. */
function normalRefs({ scenario, companies }: ConnectionOptions, base: number): readonly Ref[] {
  const count = Math.max(1, companies);
  if (scenario === 'clean') {
    return Array.from({ length: count }, (_, index) => ({ region: 'default', id: BigInt(base + index) }));
  }
  const inEu = Math.ceil(count * 0.6);
  return Array.from({ length: count }, (_, index) => {
    if (index >= inEu) return { region: 'us', id: BigInt(base + index - inEu) };
    const isLarge = index === inEu - 1 && inEu > 1;
    return { region: 'eu', id: isLarge ? LARGE + 1n : BigInt(base + index) };
  });
}

class Plan {
  readonly connections: Connection[] = [];

  add(kind: ConnectionKind, v3: readonly Ref[], v4: readonly bigint[]): void {
    const connection = this.connections.length;
    this.connections.push({
      kind,
      v3: v3.map(({ region, id }) => ({ region, id, connection })),
      v4: v4.map((id) => ({ region: null, id, connection })),
      weight: kind === 'normal' ? 2 : 1,
    });
  }
}
