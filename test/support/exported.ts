import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { DEFAULT_APPLY } from '../../src/config/apply-targets.js';
import type { Config } from '../../src/config/config.js';
import type { ModelPair, StreamState } from '../../src/domain.js';
import { checksumOfValues } from '../../src/store/checksum.js';
import { type Db, openDatabase } from '../../src/store/open.js';
import { COMPANY_LIST } from '../../src/store/streams.js';
import { seal } from './seal.js';
import { type Child, renderChildren } from './stored-children.js';

/** One exported object as a test states it; what it leaves out has a plain default. */
export interface Thing {
  readonly id: number | bigint;
  readonly key?: string | null;
  readonly uid?: string | null;
  readonly deleted?: boolean;
  readonly model?: string;
  readonly region?: string;
  readonly company?: number | bigint;
  readonly latest?: string | null;
  readonly latestFrom?: 'platform' | 'service';
  readonly created?: string | null;
  readonly facts?: string;
  readonly kids?: readonly Kid[];
}

export interface Kid {
  readonly id: number | bigint;
  readonly key?: string | null;
  readonly uid?: string | null;
  readonly deleted?: boolean;
}

/**
 * Records in short: `1 a; 2 - uid=u deleted [11 x, 12 y]` are one with the id 1 and the key a, and a deleted one without a
 * key that has two children. A key with spaces stands in quotes.
 */
export function things(text: string, separator = ';'): Thing[] {
  return text.split(separator).flatMap((part) => (part.trim() === '' ? [] : [thing(part)]));
}

function thing(text: string): Thing {
  const [, own = '', kids] = /^([^[]*)(?:\[(.*)\])?/.exec(text) ?? [];
  const [id = '', ...words] = own.match(/"[^"]*"|\S+/g) ?? [];
  const facts = words.map((word): Partial<Thing> => {
    if (word === 'deleted') return { deleted: true };
    if (word === '-') return { key: null };
    const [, name, value] = /^(\w+)=(.*)$/.exec(word) ?? [];
    return name === undefined
      ? { key: word.replaceAll('"', '') }
      : { [name]: name === 'company' ? Number(value) : value };
  });
  return Object.assign({ id: BigInt(id) }, ...facts, kids === undefined ? {} : { kids: things(kids, ',') });
}

export interface Exported {
  readonly v3: readonly Thing[];
  readonly v4: readonly Thing[];
  /** V4 companies listed beside those that hold records. */
  readonly v4Companies?: readonly number[];
  /** V3 companies by which V3 lists are split. */
  readonly v3Split?: readonly number[];
  /** Streams that are not `complete`: `v3 region model company` or `v4 model company` → state. */
  readonly states?: Readonly<Record<string, StreamState>>;
}

export const INVOICES = 'accounting/invoices';
const FINISHED = '2026-11-01T00:00:00.000Z';
const POSITION = JSON.stringify({ readUntilMs: Date.parse(FINISHED) });

export function configOf(
  overrides: Partial<Pick<Config, 'companies' | 'backfill' | 'models'>> & {
    regions?: readonly string[];
  } = {},
): Config {
  const endpoint = {
    baseUrl: 'http://127.0.0.1:1',
    keySource: 'KEY',
    pageSize: 500,
    concurrency: 8,
    requestsPerSecond: 20,
  };
  const { regions = ['default'], ...rest } = overrides;
  return {
    file: 'test.json',
    database: 'test.db',
    fieldPrefix: 'svc_',
    v3: {
      regions: regions.map((region) => ({ ...endpoint, region })),
      companies: [],
    },
    v4: {
      ...endpoint,
      region: '',
      includeDeleted: 'auto',
      companies: [],
      companyIdField: null,
      eventTypeField: 'type',
    },
    models: [modelOf(INVOICES)],
    companies: { match: 'auto', include: [], exclude: [] },
    decisions: null,
    backfill: { sinceMs: null, dateFields: ['posted_date', 'created_at'] },
    http: { timeoutMs: 1000, attempts: 1, maxWaitMs: 1000, maxBodyBytes: 1 << 20, allowHttp: false },
    payload: 'full',
    drift: { ignore: {} },
    limits: { global: {}, models: {} },
    apply: { ...DEFAULT_APPLY, targets: [] },
    maxAgeMs: 86_400_000,
    ...rest,
  };
}

export function modelOf(v3: string, v4: string | null = v3.split('/')[1] ?? v3): ModelPair {
  return { v3, v4, expand: [], children: ['line_items'], v4Guessed: false };
}

/** A database that holds these exports, in a folder of its own. */
export function openExported(config: Config, exported: Exported): { db: Db; close: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'svc-migrate-'));
  const db = openDatabase(join(folder, 'test.db'), 'create');
  saveExported(db, config, exported);
  return {
    db,
    close: () => {
      db.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function saveExported(db: Db, config: Config, exported: Exported): void {
  db.transaction(() => {
    const v4Companies = new Set([
      ...(exported.v4Companies ?? []),
      ...exported.v4.map(({ company = 1 }) => company),
    ]);
    const listed = db.prepare("INSERT OR IGNORE INTO v4_company VALUES (?, '{}')");
    for (const company of v4Companies) listed.run(BigInt(company));
    const insert = db.prepare(`
      INSERT INTO stream(generation, region, model, company_id, state, started_at, finished_at, read_at, route, position)
      VALUES (?, ?, ?, ?, ?, '${FINISHED}', '${FINISHED}', '${FINISHED}', ?, '${POSITION}')`);
    const list = exported.states?.['v4 companies'];
    if (list !== undefined) insert.run('v4', '', COMPANY_LIST, null, list, COMPANY_LIST);
    for (const { region } of config.v3.regions) {
      for (const { v3 } of config.models) {
        const state = exported.states?.[`v3 ${region} ${v3}`] ?? 'complete';
        for (const company of exported.v3Split?.map(BigInt) ?? [null])
          insert.run('v3', region, v3, company, state, v3);
      }
    }
    for (const { v3, v4 } of config.models) {
      if (v4 === null) continue;
      for (const company of v4Companies) {
        insert.run('v4', '', v3, BigInt(company), exported.states?.[`v4 ${v3} ${company}`] ?? 'complete', v4);
      }
    }
    for (const thing of exported.v3) saveThing(db, 'v3', thing);
    for (const thing of exported.v4) saveThing(db, 'v4', thing);
    seal(db);
  }).immediate();
}

function saveThing(db: Db, generation: 'v3' | 'v4', thing: Thing): void {
  const {
    id,
    key = `k${id}`,
    uid = null,
    deleted = false,
    model = INVOICES,
    region = 'default',
    company = 1,
  } = thing;
  const stream = db
    .prepare(
      'SELECT id FROM stream WHERE generation = ? AND region = ? AND model = ? AND ifnull(company_id, ?) = ?',
    )
    .pluck()
    .get(generation, generation === 'v3' ? region : '', model, BigInt(company), BigInt(company));
  const { latest = null, latestFrom = 'platform', created = null, facts = '' } = thing;
  const children = (thing.kids ?? []).map((kid): Child => {
    const { key: kidKey = `c${kid.id}`, uid: kidUid = null, deleted: kidDeleted = false } = kid;
    const ids = { svcId: BigInt(kid.id), platformId: kidKey, platformUniqueId: kidUid };
    return { path: 'line_items', ...ids, deleted: kidDeleted };
  });
  db.prepare(`
      INSERT INTO record(stream_id, svc_id, company_id, platform_id, unique_id, deleted, latest_ms, latest_from, created_ms, children, members, walk)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)`).run(
    stream,
    BigInt(id),
    BigInt(company),
    key,
    uid,
    deleted ? 1n : 0n,
    msOf(latest),
    latest === null ? null : latestFrom,
    msOf(created),
    renderChildren(children),
    membersOf(db, generation, facts),
  );
}

/**
 * The digest of one member, which says whether the facts are the same. It is a time with milliseconds that differ, so that
 * the bodies decide about drift.
 */
function membersOf(db: Db, generation: 'v3' | 'v4', facts: string): Uint8Array {
  const [list, name] = facts === '' ? [1, 'x'] : [2, 'code'];
  const names = JSON.stringify([name]);
  const save = db.prepare('INSERT OR IGNORE INTO member_list VALUES (?, ?, ?)');
  save.run(BigInt(list), names, checksumOfValues([list, names]));
  const words = Int32Array.of(0, list, crc32(facts) | 3, generation === 'v3' ? 3 : 4);
  return new Uint8Array(words.buffer);
}

function msOf(text: string | null): bigint | null {
  return text === null ? null : BigInt(Date.parse(text));
}
