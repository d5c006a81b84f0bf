import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Config } from '../../src/config/config.js';
import type { Decision, ModelPair, NamedCompanyPair, StreamState } from '../../src/domain.js';
import { buildRemap } from '../../src/match/build-remap.js';
import { saveDerivation } from '../../src/store/derivation.js';
import { openDatabase } from '../../src/store/open.js';
import type { Db } from '../../src/store/sqlite.js';

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
  /** The value of a compared field; '' has none. */
  readonly facts?: string;
  readonly kids?: readonly Kid[];
}

export interface Kid {
  readonly id: number | bigint;
  /** The field that holds it; default: `line_items`. */
  readonly path?: string;
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
    if (name === undefined) return { key: word.replaceAll('"', '') };
    return { [name]: name === 'company' ? Number(value) : value };
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
const PATH = 'line_items';
const FINISHED = '2026-11-01T00:00:00.000Z';

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
    v3: { regions: regions.map((region) => ({ ...endpoint, region })), companies: [] },
    v4: { ...endpoint, region: '', includeDeleted: 'auto', companies: [], companyIdField: null },
    models: [modelOf(INVOICES)],
    companies: { match: 'auto', include: [], exclude: [] },
    decisions: null,
    backfill: { sinceMs: null, dateFields: ['posted_date', 'created_at'] },
    http: { timeoutMs: 1000, attempts: 1, maxWaitMs: 1000, maxBodyMiB: 1, allowHttp: false },
    payload: 'full',
    limits: { global: {}, models: {} },
    apply: { targets: [] },
    maxAgeMs: 86_400_000,
    ...rest,
  } as unknown as Config;
}

export function modelOf(v3: string, v4: string | null = v3.split('/')[1] ?? v3): ModelPair {
  return { v3, v4, expand: [], children: [PATH], v4Guessed: false };
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
    const insert = db.prepare(`
      insert into stream(generation, region, model, company_id, state, started_at, finished_at, read_at, route)
      values (?, ?, ?, ?, ?, '${FINISHED}', '${FINISHED}', '${FINISHED}', ?)`);
    const list = exported.states?.['v4 companies'];
    if (list !== undefined || v4Companies.size > 0) {
      insert.run('v4', '', 'core/companies', null, list ?? 'complete', 'core/companies');
      const company = db.prepare(`
        insert into record(stream_id, svc_id, company_id, deleted, latest_is_service, child_count, child_twins, walk)
        select id, @id, @id, 0, 0, 0, 0, 1 from stream where model = 'core/companies'`);
      for (const id of v4Companies) company.run({ id: BigInt(id) });
    }
    for (const { region } of config.v3.regions) {
      for (const { v3 } of config.models) {
        const state = exported.states?.[`v3 ${region} ${v3}`] ?? 'complete';
        for (const company of exported.v3Split?.map(BigInt) ?? [null]) {
          insert.run('v3', region, v3, company, state, v3);
        }
      }
    }
    for (const { v3, v4 } of config.models) {
      if (v4 === null) continue;
      for (const company of v4Companies) {
        insert.run('v4', '', v3, BigInt(company), exported.states?.[`v4 ${v3} ${company}`] ?? 'complete', v4);
      }
    }
    saveDerivation(db, config);
    const save = prepareSave(db);
    for (const one of exported.v3) save.thing('v3', one);
    for (const one of exported.v4) save.thing('v4', one);
    save.pages();
  }).immediate();
}

/** Each list has one page, with the compared field of its records. */
function prepareSave(db: Db): {
  readonly thing: (generation: 'v3' | 'v4', thing: Thing) => void;
  readonly pages: () => void;
} {
  const streams = new Map<string, { generation: string; id: bigint; page: bigint; objects: string[] }>();
  const find = db.prepare<[string, string, string, bigint, bigint], bigint>(
    'select id from stream where generation = ? and region = ? and model = ? and ifnull(company_id, ?) = ?',
  );
  const record = db.prepare(`
    insert into record(stream_id, svc_id, company_id, platform_id, unique_id, deleted, latest_ms, latest_is_service, created_ms,
      child_count, child_twins, page_id, walk)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)`);
  const child = db.prepare(`
    insert into child(record_id, position, path, svc_id, platform_id, unique_id, deleted) values (?, ?, (select id from child_path where name = ?), ?, ?, ?, ?)`);
  const addPage = db.prepare("insert into page(stream_id, encoding, body) values (?, 'gzip', ?)");
  const ofList = (generation: 'v3' | 'v4', { model = INVOICES, region = 'default', company = 1 }: Thing) => {
    const name = `${generation} ${model} ${region} ${company}`;
    const before = streams.get(name);
    if (before !== undefined) return before;
    const place = generation === 'v3' ? region : '';
    const id = find.pluck().get(generation, place, model, BigInt(company), BigInt(company));
    if (id === undefined) throw new Error(`no list ${name}`);
    const page = BigInt(addPage.run(id, gzipSync('{}')).lastInsertRowid);
    const created = { generation, id, page, objects: [] };
    streams.set(name, created);
    return created;
  };
  const setPage = db.prepare('update page set body = ? where id = ?');
  const pages = () => {
    for (const { generation, page, objects } of streams.values()) {
      const text = `{"data":[${objects.join(',')}],"next":null}`;
      setPage.run(gzipSync(generation === 'v4' ? `{"data":${text}}` : text), page);
    }
  };
  const saveThing = (generation: 'v3' | 'v4', one: Thing) => {
    const { id, key = `k${id}`, uid = null, deleted = false, company = 1, facts = '', kids = [] } = one;
    const list = ofList(generation, one);
    list.objects.push(`{"svc_id":${id}${facts === '' ? '' : `,"code":${JSON.stringify(facts)}`}}`);
    const keys = kids.flatMap(({ id: kidId, path = PATH, key: kidKey = `c${kidId}` }) =>
      kidKey === null ? [] : [`${path} ${kidKey}`],
    );
    const latest = msOf(one.latest);
    const { lastInsertRowid } = record.run(
      ...[list.id, BigInt(id), BigInt(company), key, uid, deleted ? 1n : 0n],
      ...[latest, one.latestFrom === 'service' ? 1n : 0n, msOf(one.created)],
      ...[BigInt(kids.length), new Set(keys).size < keys.length ? 1n : 0n, list.page],
    );
    for (const [at, kid] of kids.entries()) {
      const {
        path = PATH,
        key: kidKey = `c${kid.id}`,
        uid: kidUid = null,
        deleted: kidDeleted = false,
      } = kid;
      child.run(lastInsertRowid, BigInt(at), path, BigInt(kid.id), kidKey, kidUid, kidDeleted ? 1n : 0n);
    }
  };
  return { thing: saveThing, pages };
}

function msOf(text: string | null | undefined): bigint | null {
  return text == null ? null : BigInt(Date.parse(text));
}

export interface Row {
  readonly id: bigint;
  readonly parent: bigint | null;
  readonly path: string;
  readonly region: string | null;
  readonly v3_company_id: bigint | null;
  readonly v4_company_id: bigint | null;
  readonly v3_svc_id: bigint | null;
  readonly v4_svc_id: bigint | null;
  readonly status: string;
  readonly reason: string | null;
  readonly matched_by: string | null;
  readonly evidence: string;
  readonly unique_id_conflict: bigint;
  readonly merged: bigint;
}

const CLOCK = { now: () => Date.parse('2026-11-20T00:00:00Z') };

/** The rows in an order for reading: V3 records by id, each followed by its children, then V4 records. */
export function remapOf(
  db: Db,
  config: Config,
  named: readonly NamedCompanyPair[] = [],
  decisions: readonly Decision[] = [],
): Row[] {
  buildRemap({ db, config, named, decisions, clock: CLOCK, onProgress: () => {} });
  const rows = db.prepare<[], Row>('select * from remap_entry').all();
  const parents = new Map(rows.map((row) => [row.id, row]));
  const nameOf = (row: Row) =>
    [row.v3_svc_id === null ? 1 : 0, pad(row.v3_svc_id), pad(row.v4_svc_id), pad(row.id)].join(' ');
  const placeOf = (row: Row) => {
    const parent = row.parent === null ? undefined : parents.get(row.parent);
    return parent === undefined ? nameOf(row) : `${nameOf(parent)} ${row.path} ${nameOf(row)}`;
  };
  return rows
    .map((row) => ({ row, place: placeOf(row) }))
    .sort((a, b) => (a.place < b.place ? -1 : 1))
    .map(({ row }) => row);
}

function pad(id: bigint | null): string {
  return String((id ?? 0n) + 2n ** 63n).padStart(20, '0');
}

export function remapRows(
  config: Config,
  exported: Exported,
  named: readonly NamedCompanyPair[] = [],
): Row[] {
  const { db, close } = openExported(config, exported);
  try {
    return remapOf(db, config, named);
  } finally {
    close();
  }
}

/** `path? v3→v4 status/reason`, the shape tables of cases are written in. */
export function brief(row: Row): string {
  const ids = `${row.v3_svc_id ?? '-'}→${row.v4_svc_id ?? '-'}`;
  const by = row.matched_by === 'platform_unique_id' ? ' by uid' : '';
  const path = row.path === '' ? '' : 'child ';
  const decided = row.matched_by === 'decision' ? ' by decision' : '';
  const merged = row.merged === 1n ? ' merged' : '';
  return `${path}${ids} ${row.status}${row.reason === null ? '' : `/${row.reason}`}${by}${decided}${merged}`;
}

/** The rows of a table that is written as text: cells stand between bars, and a line that begins with two more blanks goes on with its row. */
export function rowsOf(text: string): string[][] {
  const [, indent = ''] = /^\n?( *)/.exec(text) ?? [];
  const rows = text.trim().replaceAll(`\n${indent}  `, ' ').split('\n');
  return rows.map((row) => row.split(' | ').map((cell) => cell.trim()));
}
