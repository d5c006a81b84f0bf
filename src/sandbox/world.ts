import {
  ARRIVING_FATE,
  drawFate,
  FATES,
  type Fate,
  fateAt,
  ORDINARY_FATE,
  type Scenario,
  type ServiceDates,
  type Slot,
  serviceDates,
  type Times,
  UNDECIDED_FATE,
} from './fates.js';
import { MODELS, type ModelShape } from './models.js';
import { happens, hashOf, mix, shuffle } from './seeded-random.js';

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

export interface Connection extends PlannedConnection {
  readonly blocks: readonly Block[];
}

export function regionsOf(scenario: Scenario): readonly string[] {
  return scenario === 'clean' ? ['default'] : ['eu', 'us'];
}

export function buildWorld(options: WorldOptions): World {
  const { seed, scenario = 'clean' } = options;
  const hash = hashOf(seed, 'world');
  const nowMs = options.now ?? Date.UTC(2026, 0, 10 + (hash % 20));
  const times = { nowMs, sinceMs: nowMs - WINDOW_MS };
  const connections = planBlocks(
    options,
    planConnections(options, options.idsSurvive ?? happens(mix(hash, 1), 0.5)),
  );
  const buildTables = (generation: ApiVersion, region: string | null): ReadonlyMap<string, Table> => {
    const companies = connections.flatMap((one) => one[generation]).filter((one) => one.region === region);
    const tables = MODELS.map((shape, model) => {
      const blocks = companies.map((company) => ({
        company,
        block: at(at(connections, company.connection).blocks, model),
      }));
      const place = region === null ? [generation, model] : [generation, region, model];
      const tableOptions = { generation, region, shape, hash: hashOf(seed, ...place), seed, scenario, times };
      return [shape[generation], buildTable(tableOptions, blocks)] as const;
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
    add('normal', [company], [at(ids, (index + shift) % ids.length)]);
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
  // Each model is given some of the scenario's fates, so that small services have every fate but the ordinary one.
  const rare = [...FATES.keys()].filter(
    (fate) => fate !== ORDINARY_FATE && at(FATES, fate).weight[scenario] !== 0,
  );
  const perModel = Math.ceil(rare.length / MODELS.length);
  const plan = (connection: PlannedConnection, index: number, shape: ModelShape, model: number): Block => {
    const hash = hashOf(seed, 'block', index, model);
    const { kind, v3, v4 } = connection;
    const jitter = 0.8 + (0.4 * (hash % 1000)) / 1000;
    const wanted = ((scale * shareOf(connection) * shape.weight) / shares) * jitter;
    const groups = shape.weight === 0 ? 1 : Math.max(3, Math.round(wanted));
    const arriving =
      arrivals && kind === 'normal' && shape.weight > 0 ? Math.min(5, Math.ceil(groups / 10)) : 0;
    const isAbsent = absent.has(`${index} ${shape.v4}`) || absent.has(`all ${shape.v4}`);
    const fateOf = (group: number): number => {
      if (group >= groups) return ARRIVING_FATE;
      if (isStory && index === 0 && group === 0 && shape.v3 === 'payments/orders') return UNDECIDED_FATE;
      const isForced = group < Math.min(perModel, Math.floor(groups / 2)) && rare.length > 0;
      const fate = isForced
        ? at(rare, (perModel * model + 13 * index + group) % rare.length)
        : drawFate('record', scenario, mix(hash, group));
      // A record without a date of creation cannot be created later than an export.
      return fateAt(fate).dates === 'future' && !hasCreationDate(shape) ? ORDINARY_FATE : fate;
    };
    return {
      shape,
      hash,
      fates: Uint8Array.from({ length: groups + arriving }, (_, group) => fateOf(group)),
      generations: [
        ...(v3.length > 0 ? (['v3'] as const) : []),
        ...(v4.length > 0 && kind !== 'inert' && !isAbsent ? (['v4'] as const) : []),
      ],
      isAbsent,
    };
  };
  return connections.map((connection, index) => ({
    ...connection,
    blocks: MODELS.map((shape, model) => plan(connection, index, shape, model)),
  }));
}

function hasCreationDate({ fields }: ModelShape): boolean {
  return fields.includes('created_at') || fields.includes('org_created_at');
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

type ApiVersion = 'v3' | 'v4';

export interface Company {
  readonly id: bigint;
  readonly region: string | null;
  readonly connection: number;
}

/** The records of one connection and model: groups that share a key and a fate. */
export interface Block {
  readonly shape: ModelShape;
  readonly hash: number;
  readonly generations: readonly ApiVersion[];
  readonly isAbsent: boolean;
  /** Of each group; those whose V3 record arrives later are at the end. */
  readonly fates: Uint8Array;
}

/** A record of the service. What it holds is computed when it is needed, so that millions take little memory. */
export class StoredRecord {
  readonly table: Table;
  readonly member: TableMember;
  readonly group: number;
  readonly slot: Slot;
  position = -1;
  number = -1;
  /** Its new state if it was added, changed or deleted since the service started. */
  change: { readonly dates: ServiceDates; readonly deleted: boolean } | null = null;

  constructor(table: Table, member: TableMember, group: number, slot: Slot) {
    this.table = table;
    this.member = member;
    this.group = group;
    this.slot = slot;
  }

  get fate(): Fate {
    return fateAt(at(this.member.block.fates, this.group));
  }

  get svcId(): bigint {
    return toId(this.table.scenario, this.number);
  }

  get deleted(): boolean {
    return this.change?.deleted ?? this.slot.deleted;
  }

  get dates(): ServiceDates {
    if (this.change !== null) return this.change.dates;
    const { generation, hash, present, scenario, times } = this.table;
    return serviceDates(generation, this.position, present, mix(hash, this.position), times, scenario);
  }

  get updatedMs(): number {
    return this.dates.updatedMs;
  }

  /** The same for all records, in V3 and V4, of one object on the platform. */
  get entityHash(): number {
    return mix(mix(this.member.block.hash, this.group), 0xe0 + this.slot.entity);
  }
}

interface TableMember {
  readonly company: Company;
  readonly block: Block;
  readonly records: StoredRecord[];
}

interface TableOptions {
  readonly generation: ApiVersion;
  readonly region: string | null;
  readonly shape: ModelShape;
  readonly hash: number;
  readonly seed: number;
  readonly scenario: Scenario;
  readonly times: Times;
}

export interface Table extends TableOptions {
  readonly members: readonly TableMember[];
  readonly records: StoredRecord[];
  present: number;
  readonly arriving: StoredRecord[];
}

function buildTable(options: TableOptions, blocks: readonly Pick<TableMember, 'company' | 'block'>[]): Table {
  const { generation, hash } = options;
  const members = blocks.map((block): TableMember => ({ ...block, records: [] }));
  const table: Table = { ...options, members, records: [], present: 0, arriving: [] };
  const [present, arriving]: [StoredRecord[], StoredRecord[]] = [[], []];
  for (const member of members) {
    if (!member.block.generations.includes(generation)) continue;
    for (const [group, fate] of member.block.fates.entries()) {
      const list = fate === ARRIVING_FATE && generation === 'v3' ? arriving : present;
      for (const slot of fateAt(fate)[generation]) list.push(new StoredRecord(table, member, group, slot));
    }
  }
  table.present = present.length;
  const all = shuffle(present, hash).concat(shuffle(arriving, mix(hash, 1)));
  const numbers = shuffle([...all.keys()], mix(hash, 2));
  for (const [position, record] of all.entries()) {
    record.position = position;
    record.number = at(numbers, position);
    if (position < table.present) addRecord(record);
    else table.arriving.push(record);
  }
  return table;
}

export function addRecord(record: StoredRecord): void {
  record.table.records.push(record);
  record.member.records.push(record);
}

const CHILD_PLACES = 8;
const LARGEST = 2n ** 63n - 1n;
const UNSAFE = 2n ** 53n;
/** In the ugly scenario, three of this many ids are large. */
const PERIOD = 37;

/**
 * The id with a number. Ids are small integers, so that the ids of all tables overlap; in the ugly scenario some are above
 * 2^53, where neighbouring ids are equal as doubles, and some just below 2^63.
 */
function toId(scenario: Scenario, number: number): bigint {
  const rest = scenario === 'ugly' ? number % PERIOD : 0;
  if (rest === 5) return LARGEST - BigInt(number);
  return BigInt(number) + (rest === 6 || rest === 7 ? UNSAFE : 1n);
}

export function childIdOf({ table, number }: StoredRecord, place: number): bigint {
  return toId(table.scenario, number * CHILD_PLACES + place);
}

function at<T>(list: ArrayLike<T>, index: number): T {
  const item = list[index];
  if (item === undefined) throw new RangeError(`There is no item ${index}.`);
  return item;
}
