import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sandbox } from '../../src/sandbox/start.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { type Ended, keysOf, makeFolder, runCli } from '../cli/run-cli.js';
import { type SpawnOptions, spawnCli } from '../cli/spawn-cli.js';

const MODEL = 'crm/stages';

/** A shop whose orders hold V3 ids, its configuration, and a program that flips it. */
export interface CutoverScene {
  readonly cwd: string;
  readonly path: (name: string) => string;
  /** As a command line in this process. */
  readonly run: (...args: readonly string[]) => Promise<Ended>;
  /** As a process of its own. */
  readonly spawn: (args: readonly string[], more?: Partial<SpawnOptions>) => Promise<Ended>;
  readonly configure: (changes: object) => void;
  /** Adds orders with these V3 ids, by their position among those that map. */
  readonly order: (...positions: readonly number[]) => void;
  /** Runs a statement in the shop. */
  readonly sql: (text: string) => void;
  /** The ids in the orders. */
  readonly ids: () => number[];
  /** The ids in the new column. */
  readonly newIds: () => number[];
  /** What the ids in the orders are to become. */
  readonly expected: (...positions: readonly number[]) => number[];
  /** The digest of the remap. */
  readonly remap: () => string;
  /** A V3 id without a V4 id. */
  readonly unmatched: number;
  /** The lines that the program of `--exec` has written, one for each time it ran. */
  readonly flips: () => string[];
  /** Brings back the folder as it was made, without orders. */
  readonly reset: () => void;
  /** A shell script that can be given as `--exec`. */
  readonly script: (name: string, text: string) => string;
}

/** A folder in which `run` has been run against the sandbox once. */
export async function makeCutoverScene(sandbox: Sandbox): Promise<CutoverScene> {
  const cwd = makeFolder();
  const path = (name: string) => join(cwd, name);
  const target = { name: 'orders', kind: 'sqlite', file: 'shop.db', table: 'orders' };
  const targets = [{ ...target, ids: [{ column: 'stage_id', model: MODEL }] }];
  const models = [{ v3: MODEL, v4: 'stages' }];
  const configure = (changes: object) =>
    writeFileSync(
      path('svc-migrate.config.json'),
      JSON.stringify({ ...sandbox.config(), models, apply: { targets }, ...changes }),
    );
  const env = keysOf(sandbox.apiKey);
  const run = (...args: readonly string[]) => runCli(args, { cwd, env });
  const script = (name: string, text: string) => {
    writeFileSync(path(name), `#!/bin/sh\n${text}\n`);
    chmodSync(path(name), 0o755);
    return `./${name}`;
  };
  configure({});
  const first = await run('run', '--quiet');
  if (first.code !== 0) throw new Error(first.stderr);
  const pairs = query(
    path('svc-migrate.db'),
    `SELECT v3_svc_id, v4_svc_id FROM remap WHERE model = '${MODEL}' AND path = '' AND status = 'matched' ORDER BY v3_svc_id`,
  );
  const [[unmatched = 0] = []] = query(
    path('svc-migrate.db'),
    `SELECT v3_svc_id FROM remap WHERE model = '${MODEL}' AND status = 'unmatched'`,
  );
  query(path('shop.db'), 'CREATE TABLE orders(id INTEGER PRIMARY KEY, stage_id INTEGER)');
  const kept = readdirSync(cwd).map((name) => [name, readFileSync(path(name))] as const);
  const at = (positions: readonly number[], side: 0 | 1) =>
    positions.map((position) => pairs[position % pairs.length]?.[side] ?? 0);
  return {
    cwd,
    path,
    run,
    spawn: (args, more = {}) => spawnCli(args, { cwd, ...more, env: { ...env, ...more.env } }),
    configure,
    order: (...positions) => {
      for (const id of at(positions, 0))
        query(path('shop.db'), `INSERT INTO orders(stage_id) VALUES (${id})`);
    },
    sql: (text) => void query(path('shop.db'), text),
    ids: () => query(path('shop.db'), 'SELECT stage_id FROM orders ORDER BY id').map(([id = 0]) => id),
    newIds: () => query(path('shop.db'), 'SELECT stage_id_v4 FROM orders ORDER BY id').map(([id = 0]) => id),
    expected: (...positions) => at(positions, 1),
    flips: () => (existsSync(path('flips')) ? readFileSync(path('flips'), 'utf8').trim().split('\n') : []),
    unmatched,
    remap: () => {
      const [[sha256] = []] = query(
        path('svc-migrate.db'),
        'SELECT sha256 FROM remap_run ORDER BY id DESC LIMIT 1',
      );
      return String(sha256);
    },
    reset: () => {
      for (const name of readdirSync(cwd)) rmSync(path(name));
      for (const [name, content] of kept) writeFileSync(path(name), content, { mode: 0o600 });
    },
    script,
  };
}

function query(file: string, sql: string): number[][] {
  const db = new Sqlite(file);
  try {
    const statement = db.prepare<[], number[]>(sql);
    if (statement.reader) return statement.raw().all();
    statement.run();
    return [];
  } finally {
    db.close();
  }
}
