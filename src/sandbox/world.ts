import { type Block, buildBlock } from './blocks.js';
import { type Company, type Connection, planConnections, regionsOf } from './connections.js';
import { defaultNow, type Times } from './dates.js';
import type { Scenario } from './fate.js';
import { happens, hashOf, mix } from './random.js';
import { FATES, ORDINARY_FATE } from './record-fates.js';
import { MODELS } from './shapes/models.js';
import type { ModelShape } from './shapes/shape.js';
import { buildTable, type Table } from './tables.js';

const DAY_MS = 86_400_000;

export interface WorldOptions {
  readonly seed: number;
  readonly scenario: Scenario;
  /** About how many V3 records all models have together. */
  readonly scale: number;
  readonly companies: number;
  readonly windowDays: number;
  readonly now: number | undefined;
  readonly idsSurvive: boolean | undefined;
  /** Whether some V3 records arrive later. */
  readonly arrivals: boolean;
}

/** Everything the service holds, as a function of its options. */
export interface World {
  readonly seed: number;
  readonly scenario: Scenario;
  readonly times: Times;
  readonly connections: readonly Connection[];
  /** By connection, then model, in the order of `MODELS`. */
  readonly blocks: readonly (readonly Block[])[];
  /** By region, then V3 path. */
  readonly v3: ReadonlyMap<string, ReadonlyMap<string, Table>>;
  /** By V4 data model. */
  readonly v4: ReadonlyMap<string, Table>;
  /** True where V4 answers 404 for the model of a connection. */
  isAbsent(connection: number, shape: ModelShape): boolean;
}

/** Builds the service's world: under 20 bytes a record and side, records themselves are made when asked for. */
export function buildWorld(options: WorldOptions): World {
  const { seed, scenario } = options;
  const hash = hashOf(seed, 'world');
  const nowMs = options.now ?? defaultNow(hash);
  const connections = planConnections({
    seed,
    scenario,
    companies: options.companies,
    idsSurvive: options.idsSurvive ?? happens(mix(hash, 1), 0.5),
  });
  const absent = planAbsent(scenario, connections, mix(hash, 2));
  const isAbsent = (connection: number, shape: ModelShape): boolean =>
    absent.has(`${connection} ${shape.v4}`) || absent.has(`all ${shape.v4}`);
  const blocks = connections.map((connection, index) =>
    MODELS.map((shape, model) =>
      buildBlock({
        ...planBlock(options, connections, index, model),
        shape,
        scenario,
        hasV3: connection.v3.length > 0,
        hasV4: connection.v4.length > 0 && connection.kind !== 'inert' && !isAbsent(index, shape),
      }),
    ),
  );
  return {
    seed,
    scenario,
    times: { nowMs, sinceMs: nowMs - options.windowDays * DAY_MS },
    connections,
    blocks,
    v3: buildV3Tables(seed, scenario, connections, blocks),
    v4: buildV4Tables(seed, scenario, connections, blocks),
    isAbsent,
  };
}

const FORCED: Readonly<Record<Scenario, readonly number[]>> = {
  clean: fatesOf('clean'),
  ugly: fatesOf('ugly'),
};

function fatesOf(scenario: Scenario): readonly number[] {
  return FATES.flatMap((fate, number) =>
    number === ORDINARY_FATE || fate.weight[scenario] === 0 ? [] : [number],
  );
}

const FEWEST_GROUPS = 3;

function planBlock(
  { seed, scenario, scale, arrivals }: WorldOptions,
  connections: readonly Connection[],
  connection: number,
  model: number,
): { hash: number; groups: number; arriving: number; forced: readonly number[] } {
  const hash = hashOf(seed, 'block', connection, model);
  const kind = connections[connection]?.kind;
  const share = (connections[connection]?.weight ?? 0) / sumWeights(connections);
  const weight = MODELS[model]?.weight ?? 0;
  const wanted = (scale * share * weight) / sumWeights(MODELS);
  const jitter = 0.8 + (0.4 * (hash % 1000)) / 1000;
  const groups = weight === 0 ? 1 : Math.max(FEWEST_GROUPS, Math.round(wanted * jitter));
  const all = FORCED[scenario];
  const first = Math.ceil(all.length / MODELS.length) * model + 13 * connection;
  const forced = Math.min(Math.ceil(all.length / MODELS.length), Math.floor(groups / 2));
  return {
    hash,
    groups,
    arriving: arrivals && kind === 'normal' && weight > 0 ? Math.min(5, Math.ceil(groups / 10)) : 0,
    forced: Array.from({ length: forced }, (_, index) => all[(first + index) % all.length] ?? ORDINARY_FATE),
  };
}

function sumWeights(list: readonly { readonly weight: number }[]): number {
  return list.reduce((sum, { weight }) => sum + weight, 0);
}

/** In the ugly scenario V4 lacks a model for one company, and sometimes one for all. */
function planAbsent(
  scenario: Scenario,
  connections: readonly Connection[],
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

type Blocks = World['blocks'];

function membersOf(companies: readonly Company[], blocks: Blocks, model: number) {
  return companies.flatMap((company) => {
    const block = blocks[company.connection]?.[model];
    return block === undefined ? [] : [{ company, block }];
  });
}

function buildV3Tables(
  seed: number,
  scenario: Scenario,
  connections: readonly Connection[],
  blocks: Blocks,
): World['v3'] {
  const tables = new Map<string, Map<string, Table>>();
  for (const region of regionsOf(scenario)) {
    const companies = connections.flatMap(({ v3 }) => v3.filter((company) => company.region === region));
    const ofRegion = new Map<string, Table>();
    for (const [model, shape] of MODELS.entries()) {
      const members = membersOf(companies, blocks, model);
      const hash = hashOf(seed, 'v3', region, model);
      const largeIds = scenario === 'ugly';
      ofRegion.set(shape.v3, buildTable({ generation: 'v3', region, shape, hash, largeIds, members }));
    }
    tables.set(region, ofRegion);
  }
  return tables;
}

function buildV4Tables(
  seed: number,
  scenario: Scenario,
  connections: readonly Connection[],
  blocks: Blocks,
): World['v4'] {
  const companies = connections.flatMap(({ v4 }) => v4);
  const tables = new Map<string, Table>();
  for (const [model, shape] of MODELS.entries()) {
    const members = membersOf(companies, blocks, model);
    const hash = hashOf(seed, 'v4', model);
    const largeIds = scenario === 'ugly';
    tables.set(shape.v4, buildTable({ generation: 'v4', region: null, shape, hash, largeIds, members }));
  }
  return tables;
}
