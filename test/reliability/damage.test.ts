import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { Draw } from '../../src/sandbox/seeded-random.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { at as itemAt } from '../../src/text/at.js';
import { campaignCases, campaignSize } from '../support/campaign.js';
import { openProject } from '../support/project.js';
import { type Ended, runCli } from '../support/run-cli.js';

const DB = 'svc-migrate.db';
const FLIPS = campaignSize({ small: 12, full: 300, soak: 10_000 });
const SEED = 20261122;

const {
  at,
  cwd: folder,
  sandbox,
} = await openProject({ seed: 8, scale: 60, companies: 2 }, (service) => ({
  ...service.config(),
  apply: {
    targets: [
      {
        name: 'sales',
        kind: 'sqlite',
        file: 'shop.db',
        table: 'sales',
        ids: [{ column: 'invoice', model: 'accounting/invoices' }],
      },
    ],
  },
}));
const file = join(folder, DB);
let whole: Buffer;
let dump: string;
let id: string;

const run = (line: string): Promise<Ended> => runCli(line.split(' '), at);

beforeAll(async () => {
  const shop = new Sqlite(join(folder, 'shop.db'));
  shop.exec('create table sales(id integer primary key, invoice integer)');
  const matched = [...sandbox.truth()].filter(
    ({ model, path, status }) => model === 'accounting/invoices' && path === '' && status === 'matched',
  );
  id = String(itemAt(matched, 0).v3_svc_id);
  shop.exec(`insert into sales(invoice) values (${id})`);
  shop.close();
  expect((await run('run --quiet')).code).toBe(0);
  whole = readFileSync(file);
  dump = (await run('dump')).stdout;
});

function restore(bytes: Buffer = whole): void {
  for (const suffix of ['-journal', '-wal', '-shm', '-writer']) rmSync(`${file}${suffix}`, { force: true });
  writeFileSync(file, bytes);
}

function alter(statement: string): number {
  const db = new Sqlite(file);
  try {
    return db.prepare(statement).run().changes;
  } finally {
    db.close();
  }
}

describe('a remap that was changed since it was built', () => {
  const CHANGES = [
    'update remap_row set v4_svc_id = v4_svc_id + 1 where id = (select min(id) from remap_row where v4_svc_id is not null)',
    'update remap_row set v3_svc_id = v3_svc_id + 1 where id = (select max(id) from remap_row where v3_svc_id is not null)',
    'delete from remap_row where id = (select max(id) from remap_row)',
    `insert into remap_row select max(id) + 1, group_id, parent, platform_id, v3_svc_id, v4_svc_id, evidence from remap_row`,
    'insert into remap_row select -1, group_id, null, null, 777, 778, null from remap_row where v4_svc_id is not null and parent is null limit 1',
    `insert into remap_row select ${2n ** 63n - 1n}, group_id, parent, platform_id, 777, 778, evidence from remap_row limit 1`,
    "update remap_row set platform_id = platform_id || 'x' where id = (select min(id) from remap_row where platform_id is not null)",
    "update remap_group set status = 'matched', reason = null where status = 'unmatched'",
    "update remap_group set reason = 'outside_backfill_window' where reason = 'connection_inert'",
    'update company set v4_company_id = v4_company_id + 1',
    "update remap_run set sha256 = 'x' || substr(sha256, 2)",
    'update remap_run set v4_seen = v4_seen + 1',
  ];
  it.each(CHANGES)(
    'ends check, dump and apply with 6, and is right once it is built again: %s',
    async (statement) => {
      restore();
      expect(alter(statement)).toBeGreaterThan(0);
      const codes = [];
      for (const line of ['check', 'dump', 'apply plan', 'apply write --yes']) {
        const { code, stdout } = await run(`${line} --quiet`);
        codes.push([line, code, stdout]);
      }
      expect(codes).toEqual(
        ['check', 'dump', 'apply plan', 'apply write --yes'].map((line) => [line, 6, '']),
      );
      expect([
        (await run('remap --quiet')).code,
        (await run('dump')).stdout === dump,
        (await run('check')).code,
      ]).toEqual([0, true, 0]);
    },
  );
});

describe('a report over a database that was changed', () => {
  const CHANGES = [
    "update remap_row set evidence = '{' || evidence where id in (select r.id from remap_row r join remap_group g on g.id = r.group_id where g.status <> 'matched')",
    'update remap_group set count = count + 1, v3_count = v3_count + 1',
    'update exported_count set records = records - 1',
    'update remap_run set v3_rows = v3_rows + 1',
    "update remap_run set inputs = '{' || inputs",
    "update meta set value = '{' || value where name like 'fingerprint%'",
  ];
  it.each(CHANGES)('ends with 6 where it cannot be made: %s', async (statement) => {
    restore();
    expect(alter(statement)).toBeGreaterThan(0);
    const codes = [];
    for (const line of ['status', 'report']) codes.push((await run(`${line} --quiet`)).code);
    expect(codes).toEqual([6, 6]);
  });
});

describe('a damaged file', () => {
  const COMMANDS = ['status', 'report', 'check', 'findings', 'dump', 'remap'];

  it(`is refused or answered as before, after ${FLIPS} single flipped bits`, async () => {
    const draw = new Draw(SEED);
    const counts = { same: 0, refused: 0, other: 0 };
    const wrong: string[] = [];
    for (let flip = 0; flip < FLIPS; flip += 1) {
      const [place, bit] = [draw.below(whole.length), draw.below(8)];
      const bytes = Buffer.from(whole);
      bytes.writeUInt8(bytes.readUInt8(place) ^ (1 << bit), place);
      restore(bytes);
      const others = COMMANDS.filter((_, index) => index % 3 === flip % 3);
      for (const line of ['dump', `lookup accounting/invoices ${id}`, ...others]) {
        const { code, stdout, stderr } = await run(`${line} --quiet`);
        if (code === 6) counts.refused += 1;
        else if (line === 'dump' && code === 0 && stdout === dump) counts.same += 1;
        else counts.other += 1;
        const isWrongDump = line === 'dump' && code === 0 && stdout !== dump;
        if (isWrongDump || code === 70)
          wrong.push(`bit ${bit} of byte ${place}: ${line}: ${code} ${stderr.slice(0, 300)}`);
      }
    }
    process.stdout.write(`${FLIPS} flipped bits: ${JSON.stringify(counts)}\n`);
    expect(wrong).toEqual([]);
    expect([counts.same, counts.refused].every((count) => count >= FLIPS / 12)).toBe(true);
  });

  it('is refused by remap with 6 if a page of it was lost', async () => {
    const pageBytes = whole.readUInt16BE(16);
    const db = new Sqlite(file, { readonly: true });
    restore();
    const pages = db
      .prepare<[], number>(
        "select pageno from dbstat where name in ('record', 'stream', 'child') and pagetype = 'leaf'",
      )
      .pluck()
      .all();
    db.close();
    for (const page of campaignCases(pages, 2)) {
      const bytes = Buffer.from(whole);
      bytes.fill(0, (page - 1) * pageBytes, page * pageBytes);
      restore(bytes);
      const { code, stderr } = await run('remap --quiet');
      expect([code, stderr], `page ${page}`).toEqual([6, expect.not.stringContaining('this is a bug')]);
    }
  });

  it.each(["update page set body = x'00'", "update page set encoding = 'gzip'", 'delete from page'])(
    'is refused by explain with 6 if pages cannot be read, or shown without them: %s',
    async (statement) => {
      restore();
      expect(alter(statement)).toBeGreaterThan(0);
      const { code, stderr } = await run(`explain accounting/invoices ${id}`);
      const isGone = statement.startsWith('delete');
      expect([code, stderr]).toEqual([isGone ? 0 : 6, expect.not.stringContaining('this is a bug')]);
    },
  );

  it('and one that was only copied is none', async () => {
    restore();
    copyFileSync(file, join(folder, 'copy.db'));
    expect((await run('check --db copy.db')).code).toBe(0);
  });
});
