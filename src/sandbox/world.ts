import { defaultNow, FATES, ORDINARY_FATE, type Scenario, type Times, UNDECIDED_FATE } from './fates.js';
import { MODELS, type ModelShape } from './models.js';
import { happens, hashOf, mix } from './seeded-random.js';
import { type ApiVersion, type Block, buildBlock, buildTable, type Company, type Table } from './tables.js';

const WINDOW_MS = 90 * 86_400_000;

export interface WorldOptions {
  readonly seed: number;
  /** `clean` passes `svc-migrate check`; `ugly` has every known problem in its data. */
  readonly scenario?: Scenario | undefined;
  readonly scale?: number | undefined;
  readonly companies?: number | undefined;
  readonly now?: number | undefined;
  readonly idsSurvive?: boolean | undefined;
  readonly arrivals?: boolean;
  /** The story of `demo`, in the clean scenario: one ambiguous record, and a company that V4 loads only after a full sync. */
  readonly isStory?: boolean | undefined;
}

export interface World {
  readonly seed: number;
  readonly scenario: Scenario;
  readonly times: Times;
  readonly connections: readonly Connection[];
  readonly v3: ReadonlyMap<string, ReadonlyMap<string, Table>>;
  readonly v4: ReadonlyMap<string, Table>;
}

/**
 * `inert`: V4 lists the company but has no records of it. `ambiguous`: one V3 company became two in V4, or two became
 * one. `missing_in_…`: the company exists on the other side only.
 */
type ConnectionKind = 'normal' | 'inert' | 'missing_in_v4' | 'missing_in_v3' | 'ambiguous';

interface PlannedConnection {
  readonly kind: ConnectionKind;
  readonly v3: readonly Company[];
  readonly v4: readonly Company[];
}

/** One connection of a customer's platform, with its companies and records on each side. */
export interface Connection extends PlannedConnection {
  readonly blocks: readonly Block[];
}

export function regionsOf(scenario: Scenario): readonly string[] {
  return scenario === 'clean' ? ['default'] : ['eu', 'us'];
}

export function buildWorld(options: WorldOptions): World {
  const { seed, scenario = 'clean' } = options;
  const hash = hashOf(seed, 'world');
  const nowMs = options.now ?? defaultNow(hash);
  const times = { nowMs, sinceMs: nowMs - WINDOW_MS };
  const connections = planBlocks(
    options,
    planConnections(options, options.idsSurvive ?? happens(mix(hash, 1), 0.5)),
  );
  const buildTables = (generation: ApiVersion, region: string | null): ReadonlyMap<string, Table> => {
    const companies = connections.flatMap((one) => one[generation]).filter((one) => one.region === region);
    const tables = MODELS.map((shape, model) => {
      const members = companies.flatMap((company) => {
        const block = connections[company.connection]?.blocks[model];
        return block === undefined ? [] : [{ company, block }];
      });
      const place = region === null ? [generation, model] : [generation, region, model];
      const tableOptions = { generation, region, shape, hash: hashOf(seed, ...place), seed, scenario, times };
      return [shape[generation], buildTable(tableOptions, members)] as const;
    });
    return new Map(tables);
  };
  return {
    seed,
    scenario,
    times,
    connections,
    v3: new Map(regionsOf(scenario).map((region) => [region, buildTables('v3', region)])),
    v4: buildTables('v4', null),
  };
}

type V3Company = readonly [region: string, id: bigint];

/** This id and the next one are equal as doubles. */
const LARGE = 2n ** 53n;

/**
 * Plans the connections. V4 companies without records keep the V3 id, because nothing else identifies them; companies
 * on one side only have an id that the other side does not use.
 *
 * @param idsSurvive whether companies have the same ids in V4; otherwise the normal ones swap them
 */
function planConnections(
  { seed, scenario = 'clean', companies = scenario === 'clean' ? 4 : 5, isStory = false }: WorldOptions,
  idsSurvive: boolean,
): readonly PlannedConnection[] {
  const base = 3 + (hashOf(seed, 'company') % 40);
  const planned: PlannedConnection[] = [];
  const add = (kind: ConnectionKind, v3: readonly V3Company[], v4: readonly bigint[]): void => {
    const connection = planned.length;
    planned.push({
      kind,
      v3: v3.map(([region, id]) => ({ region, id, connection })),
      v4: v4.map((id) => ({ region: null, id, connection })),
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
    add(isStory ? 'normal' : 'inert', [['default', special]], [special]);
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

function planBlocks(
  { seed, scenario = 'clean', scale = 800, arrivals = false, isStory = false }: WorldOptions,
  connections: readonly PlannedConnection[],
): readonly Connection[] {
  const absent = planAbsent(scenario, connections, mix(hashOf(seed, 'world'), 2));
  const shareOf = ({ kind }: PlannedConnection) => (kind === 'normal' ? 2 : 1);
  const shares = sumOf(connections, shareOf) * sumOf(MODELS, ({ weight }) => weight);
  // Each model is given some of the scenario's fates, so that every fate but the ordinary one occurs.
  const fates = [...FATES.keys()].filter(
    (fate) => fate !== ORDINARY_FATE && FATES[fate]?.weight[scenario] !== 0,
  );
  const perModel = Math.ceil(fates.length / MODELS.length);
  const plan = (connection: PlannedConnection, index: number, shape: ModelShape, model: number): Block => {
    const hash = hashOf(seed, 'block', index, model);
    const { kind, v3, v4 } = connection;
    const jitter = 0.8 + (0.4 * (hash % 1000)) / 1000;
    const wanted = ((scale * shareOf(connection) * shape.weight) / shares) * jitter;
    const groups = shape.weight === 0 ? 1 : Math.max(3, Math.round(wanted));
    const isAbsent = absent.has(`${index} ${shape.v4}`) || absent.has(`all ${shape.v4}`);
    const isUndecided = isStory && index === 0 && shape.v3 === 'payments/orders';
    return buildBlock({
      shape,
      hash,
      groups,
      arriving: arrivals && kind === 'normal' && shape.weight > 0 ? Math.min(5, Math.ceil(groups / 10)) : 0,
      scenario,
      forced: Array.from({ length: Math.min(perModel, Math.floor(groups / 2)) }, (_, at) =>
        at === 0 && isUndecided
          ? UNDECIDED_FATE
          : (fates[(perModel * model + 13 * index + at) % fates.length] ?? ORDINARY_FATE),
      ),
      generations: [
        ...(v3.length > 0 ? (['v3'] as const) : []),
        ...(v4.length > 0 && kind !== 'inert' && !isAbsent ? (['v4'] as const) : []),
      ],
      isAbsent,
    });
  };
  return connections.map((connection, index) => ({
    ...connection,
    blocks: MODELS.map((shape, model) => plan(connection, index, shape, model)),
  }));
}

function sumOf<T>(list: readonly T[], of: (one: T) => number): number {
  return list.reduce((sum, one) => sum + of(one), 0);
}

/**
 * Plans which models V4 does not have. In the ugly scenario: one model for the first normal connection, sometimes the same
 * for the first inert one, and sometimes another model for all connections.
 */
function planAbsent(
  scenario: Scenario,
  connections: readonly PlannedConnection[],
  hash: number,
): ReadonlySet<string> {
  if (scenario === 'clean') return new Set();
  const candidates = ['stages', 'bill_credit_notes', 'tax_rates', 'payment_items', 'crm_companies'];
  const forOne = candidates[hash % candidates.length];
  const forAll = candidates[(hash + 1) % candidates.length];
  const first = (wanted: ConnectionKind) => connections.findIndex(({ kind }) => kind === wanted);
  const absent = new Set([`${first('normal')} ${forOne}`]);
  if (happens(mix(hash, 1), 0.5)) absent.add(`all ${forAll}`);
  if (happens(mix(hash, 2), 0.5)) absent.add(`${first('inert')} ${forOne}`);
  return absent;
}
