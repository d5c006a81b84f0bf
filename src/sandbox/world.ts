import { type Company, type CompanyConnection, planConnections, regionsOf } from './connections.js';
import { defaultNow, FATES, ORDINARY_FATE, type Scenario, type Times, UNDECIDED_FATE } from './fates.js';
import { MODELS, type ModelShape } from './models.js';
import { type Block, type BlockOptions, buildBlock, buildTable, type Table } from './record-tables.js';
import { Draw, happens, hashOf, mix } from './seeded-random.js';
import { recordAt } from './stored-records.js';

export interface WorldOptions {
  readonly seed: number;
  /** `clean` passes `svc-migrate check`; `ugly` has every known problem in its data. */
  readonly scenario?: Scenario | undefined;
  /** Approximate number of V3 records of all models; 800 by default. */
  readonly scale?: number | undefined;
  /** Number of normal connections; by default 4 in the clean scenario and 5 in the ugly one. */
  readonly companies?: number | undefined;
  /** Length of the backfill window, at least 7; 90 by default. */
  readonly windowDays?: number | undefined;
  /** The service's own time, ms since 1970; by default a day in January 2026 that depends on the seed. */
  readonly now?: number | undefined;
  /** Whether companies keep their ids in V4; by default it depends on the seed. */
  readonly idsSurvive?: boolean | undefined;
  /** Whether some V3 records arrive later. */
  readonly arrivals?: boolean;
  /** The story of `demo`, in the clean scenario: one ambiguous record, and a company that V4 loads only after a full sync. */
  readonly isStory?: boolean | undefined;
}

/** All data of the service. */
export interface World {
  readonly seed: number;
  readonly scenario: Scenario;
  readonly times: Times;
  readonly connections: readonly CompanyConnection[];
  /** By connection, then model, in the order of `MODELS`. */
  readonly blocks: readonly (readonly Block[])[];
  /** By region, then V3 path. */
  readonly v3: ReadonlyMap<string, ReadonlyMap<string, Table>>;
  /** By V4 data model. */
  readonly v4: ReadonlyMap<string, Table>;
  /** Whether V4 answers 404 for the model of a connection. */
  isAbsent(connection: number, shape: ModelShape): boolean;
}

/** Plans the data of the service, in less than 20 bytes for each V3 or V4 record; the records are built on demand. */
export function buildWorld(options: WorldOptions): World {
  const {
    seed,
    scenario = 'clean',
    scale = 800,
    windowDays = 90,
    arrivals = false,
    isStory = false,
  } = options;
  const companies = options.companies ?? (scenario === 'clean' ? 4 : 5);
  const hash = hashOf(seed, 'world');
  const nowMs = options.now ?? defaultNow(hash);
  const idsSurvive = options.idsSurvive ?? happens(mix(hash, 1), 0.5);
  const connections = planConnections(seed, scenario, companies, idsSurvive, isStory);
  const absent = planAbsent(scenario, connections, mix(hash, 2));
  const isAbsent = (connection: number, shape: ModelShape): boolean =>
    absent.has(`${connection} ${shape.v4}`) || absent.has(`all ${shape.v4}`);
  const blocks = connections.map((connection, index) =>
    MODELS.map((shape, model) =>
      buildBlock({
        ...planBlock({ seed, scenario, scale, arrivals, isStory }, connections, index, model),
        shape,
        scenario,
        hasV3: connection.v3.length > 0,
        hasV4: connection.v4.length > 0 && connection.kind !== 'inert' && !isAbsent(index, shape),
      }),
    ),
  );
  const buildTables = (generation: 'v3' | 'v4', region: string | null, companies: readonly Company[]) =>
    MODELS.map((shape, model) => {
      const members = companies.flatMap((company) => {
        const block = blocks[company.connection]?.[model];
        return block === undefined ? [] : [{ company, block }];
      });
      const place = region === null ? [generation, model] : [generation, region, model];
      const tableOptions = { generation, region, shape, hash: hashOf(seed, ...place) };
      return [shape[generation], buildTable(tableOptions, members, scenario === 'ugly')] as const;
    });
  const v3Companies = connections.flatMap(({ v3 }) => v3);
  const v3 = regionsOf(scenario).map((region) => {
    const companies = v3Companies.filter((company) => company.region === region);
    return [region, new Map(buildTables('v3', region, companies))] as const;
  });
  const v4Companies = connections.flatMap(({ v4 }) => v4);
  return {
    seed,
    scenario,
    times: { nowMs, sinceMs: nowMs - windowDays * 86_400_000 },
    connections,
    blocks,
    v3: new Map(v3),
    v4: new Map(buildTables('v4', null, v4Companies)),
    isAbsent,
  };
}

interface PlanOptions {
  readonly seed: number;
  readonly scenario: Scenario;
  readonly scale: number;
  readonly arrivals: boolean;
  readonly isStory: boolean;
}

function planBlock(
  { seed, scenario, scale, arrivals, isStory }: PlanOptions,
  connections: readonly CompanyConnection[],
  connection: number,
  model: number,
): Pick<BlockOptions, 'hash' | 'groups' | 'arriving' | 'forced'> {
  const hash = hashOf(seed, 'block', connection, model);
  const { kind, weight: share = 0 } = connections[connection] ?? {};
  const weight = MODELS[model]?.weight ?? 0;
  const wanted = (scale * (share / sumWeights(connections)) * weight) / sumWeights(MODELS);
  const jitter = 0.8 + (0.4 * (hash % 1000)) / 1000;
  const groups = weight === 0 ? 1 : Math.max(3, Math.round(wanted * jitter));
  // Each model is given some of the scenario's fates, so that every fate but the ordinary one occurs.
  const all = [...FATES.keys()].filter(
    (fate) => fate !== ORDINARY_FATE && FATES[fate]?.weight[scenario] !== 0,
  );
  const perModel = Math.ceil(all.length / MODELS.length);
  const first = perModel * model + 13 * connection;
  const isUndecided = isStory && connection === 0 && MODELS[model]?.v3 === 'payments/orders';
  return {
    hash,
    groups,
    arriving: arrivals && kind === 'normal' && weight > 0 ? Math.min(5, Math.ceil(groups / 10)) : 0,
    forced: Array.from({ length: Math.min(perModel, Math.floor(groups / 2)) }, (_, index) =>
      index === 0 && isUndecided ? UNDECIDED_FATE : (all[(first + index) % all.length] ?? ORDINARY_FATE),
    ),
  };
}

function sumWeights(list: readonly { readonly weight: number }[]): number {
  return list.reduce((sum, { weight }) => sum + weight, 0);
}

/**
 * Plans which models V4 does not have. In the ugly scenario: one model for the first normal connection, sometimes the same
 * for the first inert one, and sometimes another model for all connections.
 */
function planAbsent(
  scenario: Scenario,
  connections: readonly CompanyConnection[],
  hash: number,
): ReadonlySet<string> {
  if (scenario === 'clean') return new Set();
  const candidates = ['stages', 'bill_credit_notes', 'tax_rates', 'payment_items', 'crm_companies'];
  const forOne = candidates[hash % candidates.length];
  const forAll = candidates[(hash + 1) % candidates.length];
  const normal = connections.findIndex(({ kind }) => kind === 'normal');
  const inert = connections.findIndex(({ kind }) => kind === 'inert');
  const absent = new Set([`${normal} ${forOne}`]);
  if (happens(mix(hash, 1), 0.5)) absent.add(`all ${forAll}`);
  if (happens(mix(hash, 2), 0.5)) absent.add(`${inert} ${forOne}`);
  return absent;
}

/**
 * Makes the function that changes V3 while it is being read. Each call adds, updates or deletes a record of the table at
 * the time `now`, or does nothing; updates and deletions end once the table has 40 changes, or a quarter as many as
 * records. Only ordinary pairs are updated or deleted, so that what is expected of all others stays valid.
 */
export function createMutator(world: World): (table: Table, now: number) => void {
  const draws = new Map<Table, Draw>();
  return (table, now) => {
    const draw = draws.get(table) ?? new Draw(hashOf(world.seed, 'mutate', table.hash));
    draws.set(table, draw);
    if (draw.chance(0.3) && arrive(table, now)) return;
    if (table.changes.size >= Math.min(40, table.present / 4)) return;
    const position = findOrdinary(world, table, draw);
    if (position !== null) table.changes.set(position, { updatedMs: now, deleted: draw.chance(0.4) });
  };
}

/** Adds a record after all others; false if none is left to add. */
function arrive(table: Table, now: number): boolean {
  let position = table.present;
  while (table.changes.has(position)) position++;
  if (position >= table.memberOf.length) return false;
  table.changes.set(position, { createdMs: now, updatedMs: now, deleted: false });
  return true;
}

function findOrdinary(world: World, table: Table, draw: Draw): number | null {
  for (let attempt = 0; attempt < 8 && table.present > 0; attempt++) {
    const position = draw.below(table.present);
    const { member, group } = recordAt(world, table, position);
    const { block, company } = member;
    const isPaired = world.connections[company.connection]?.kind === 'normal' && block.v4.count > 0;
    if (isPaired && block.fates[group] === ORDINARY_FATE && !table.changes.has(position)) return position;
  }
  return null;
}
