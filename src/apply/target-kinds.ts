import { lstatSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type ApplyTarget, isServer } from '../config/apply-targets.js';
import { SvcError } from '../errors.js';
import type { ApplyContext, DataStore } from './context.js';
import { openSqliteStore } from './dialects/sqlite-dialect.js';
import { openWarehouseStore } from './emit/warehouse-store.js';
import { openFileStore } from './files/file-store.js';
import type { PlaceSample } from './scan/column-sample.js';
import { sampleCsv, sampleNdjson } from './scan/sample-file.js';
import { sampleSqlite } from './scan/sample-sqlite.js';

type Kind = ApplyTarget['kind'];
type TargetOf<K extends Kind> = Extract<ApplyTarget, { readonly kind: K }>;

/** What `apply` does with one kind of target. */
interface TargetKind<T extends ApplyTarget> {
  /** Opens the targets of one place; of a file there is only one. */
  open(context: ApplyContext, targets: readonly T[]): Promise<DataStore>;
  /** Samples the columns of a place; `table`: only of this table. */
  sample(context: ApplyContext, target: T, table: string | null): Promise<PlaceSample>;
}

/** Lets any target be given to the functions of its kind. */
function forKind<K extends Kind>(
  kind: K,
  { open, sample }: TargetKind<TargetOf<K>>,
): TargetKind<ApplyTarget> {
  const own = (targets: readonly ApplyTarget[]) =>
    targets.filter((target): target is TargetOf<K> => target.kind === kind);
  return {
    open: (context, targets) => open(context, own(targets)),
    sample: (context, target, table) => sample(context, firstOf(own([target])), table),
  };
}

function firstOf<T>([first]: readonly T[]): T {
  if (first === undefined) throw new Error('a store without targets');
  return first;
}

/** Drivers of servers are loaded where they are used: each takes as long as a small run. */
const TARGET_KINDS: Readonly<Record<Kind, TargetKind<ApplyTarget>>> = {
  csv: forKind('csv', {
    open: async (context, targets) => openFileStore(context, firstOf(targets)),
    sample: async (_, { file, header }) => sampleCsv(file, header),
  }),
  ndjson: forKind('ndjson', {
    open: async (context, targets) => openFileStore(context, firstOf(targets)),
    sample: async (_, { file }) => sampleNdjson(file),
  }),
  sqlite: forKind('sqlite', {
    open: async (context, targets) => openSqliteStore(context, firstOf(targets).file, targets),
    sample: (context, { file }, table) => sampleSqlite(context, file, table),
  }),
  postgres: forKind('postgres', {
    open: async (...given) => (await import('./dialects/postgres-dialect.js')).openPostgresStore(...given),
    sample: async (...given) => (await import('./scan/sample-postgres.js')).samplePostgres(...given),
  }),
  mysql: forKind('mysql', {
    open: async (...given) => (await import('./dialects/mysql-dialect.js')).openMysqlStore(...given),
    sample: async (...given) => (await import('./scan/sample-mysql.js')).sampleMysql(...given),
  }),
  warehouse: forKind('warehouse', {
    open: async (...given) => openWarehouseStore(...given),
    sample: () => Promise.reject(new SvcError('usage', 'A warehouse cannot be scanned.')),
  }),
};

/** The functions of a target's kind. */
export function targetKind({ kind }: ApplyTarget): TargetKind<ApplyTarget> {
  return TARGET_KINDS[kind];
}

/** Whether targets are opened together: tables of one database may depend on each other. */
export function isSharedPlace({ kind }: ApplyTarget): boolean {
  return kind !== 'csv' && kind !== 'ndjson';
}

/** Identifies the place of a target: the same text for the same database or file. */
export function placeKey(target: ApplyTarget): string {
  if (target.kind === 'warehouse') return target.kind;
  return isServer(target)
    ? [target.kind, target.urlEnv, target.urlFile, target.tls].join('\0')
    : fileIdentity(target.file);
}

/** Identifies a file independently of its spelling: by device and inode or, if it does not exist, by its real path. */
export function fileIdentity(file: string): string {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
  if (stats !== undefined) return `${stats.dev}:${stats.ino}`;
  const isLink = lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  const folder = dirname(file);
  if (isLink || statSync(folder, { throwIfNoEntry: false }) === undefined) return file;
  return join(realpathSync(folder), basename(file));
}
