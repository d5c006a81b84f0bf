import type { Scenario } from './fates.js';
import { hashOf, mix } from './seeded-random.js';

/** A connected company in the list of one generation. */
export interface Company {
  readonly id: bigint;
  /** The V3 region; null in V4. */
  readonly region: string | null;
  /** Index of its connection. */
  readonly connection: number;
}

/**
 * `inert`: V4 lists the company but has no records of it. `ambiguous`: one V3 company became two in V4, or two became
 * one. `missing_in_…`: the company exists on the other side only.
 */
type ConnectionKind = 'normal' | 'inert' | 'missing_in_v4' | 'missing_in_v3' | 'ambiguous';

/** One connection of a customer's platform, with its companies on each side. */
export interface CompanyConnection {
  readonly kind: ConnectionKind;
  readonly v3: readonly Company[];
  readonly v4: readonly Company[];
  /** Share of all records, relative to the other connections. */
  readonly weight: number;
}

/** The regions of V3 in a scenario. */
export function regionsOf(scenario: Scenario): readonly string[] {
  return scenario === 'clean' ? ['default'] : ['eu', 'us'];
}

/** A V3 company: region and id. */
type V3Company = readonly [string, bigint];

/** This id and the next one are equal as doubles. */
const LARGE = 2n ** 53n;

/**
 * Plans the connections. V4 companies without records keep the V3 id, because nothing else identifies them; companies
 * on one side only have an id that the other side does not use.
 *
 * @param companies normal connections
 * @param isSynced whether the company of the clean scenario that V4 did not load is loaded by a full sync
 * @param idsSurvive whether companies have the same ids in V4; otherwise the normal ones swap them
 */
export function planConnections(
  seed: number,
  scenario: Scenario,
  companies: number,
  idsSurvive: boolean,
  isSynced: boolean,
): readonly CompanyConnection[] {
  const base = 3 + (hashOf(seed, 'company') % 40);
  const planned: CompanyConnection[] = [];
  const add = (kind: ConnectionKind, v3: readonly V3Company[], v4: readonly bigint[]): void => {
    const connection = planned.length;
    planned.push({
      kind,
      v3: v3.map(([region, id]) => ({ region, id, connection })),
      v4: v4.map((id) => ({ region: null, id, connection })),
      weight: kind === 'normal' ? 2 : 1,
    });
  };

  const normal = planNormal(scenario, companies, base);
  const fresh = BigInt(base + companies + 20);
  const ids = normal.map(([region, id], index) => (region === 'us' ? fresh + BigInt(index) : id));
  const shift = idsSurvive ? 0 : 1 + (mix(base, seed) % Math.max(1, ids.length - 1));
  for (const [index, company] of normal.entries()) {
    add('normal', [company], [ids[(index + shift) % ids.length] ?? 0n]);
  }

  const special = BigInt(base + 2 * companies + 40);
  if (scenario === 'clean') {
    add(isSynced ? 'normal' : 'inert', [['default', special]], [special]);
    return planned;
  }
  add('inert', [['eu', special]], [special]);
  add('missing_in_v4', [['eu', LARGE]], []);
  add('missing_in_v4', [['us', special + 1n]], []);
  add('missing_in_v3', [], [special + 2n]);
  add('ambiguous', [['us', special + 3n]], [special + (idsSurvive ? 3n : 4n), special + 5n]);
  const merged: readonly V3Company[] = [
    ['eu', special + 6n],
    ['us', special + 7n],
  ];
  add('ambiguous', merged, [special + (idsSurvive ? 6n : 8n)]);
  return planned;
}

/** In the ugly scenario both regions count their companies from the same number. */
function planNormal(scenario: Scenario, companies: number, base: number): readonly V3Company[] {
  const count = Math.max(1, companies);
  const inEu = Math.ceil(count * 0.6);
  return Array.from({ length: count }, (_, index) => {
    if (scenario === 'clean') return ['default', BigInt(base + index)];
    if (index >= inEu) return ['us', BigInt(base + index - inEu)];
    return ['eu', index === inEu - 1 && inEu > 1 ? LARGE + 1n : BigInt(base + index)];
  });
}
