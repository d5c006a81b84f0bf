import type { ApplyTarget } from '../../config/apply-targets.js';
import { SERVERS } from '../../domain.js';
import { SvcError } from '../../errors.js';

/** What `apply sql` takes. */
export const EMIT_DIALECTS = [...SERVERS.map(({ kind }) => kind), 'sqlite'] as const;
type EmitDialect = (typeof EMIT_DIALECTS)[number];

/** Where the SQL goes: folders of migration tools, or plain files. */
export const LAYOUTS = ['plain', 'flyway', 'liquibase', 'prisma', 'rails', 'knex'] as const;
type Layout = (typeof LAYOUTS)[number];

/** The product of a dialect, for people. */
export const PRODUCTS: Readonly<Record<EmitDialect, string>> = {
  postgres: 'PostgreSQL',
  mysql: 'MySQL and MariaDB',
  sqlite: 'SQLite',
};

/** What `apply sql` writes, and where. */
export interface EmitRequest {
  readonly dialect: EmitDialect;
  readonly layout: Layout;
  readonly folder: string;
}

/** The SQL of one plan for one database, as statements without semicolons. */
export interface SqlScript {
  /** Creates the ledger and the crosswalks, checks, rewrites and records. */
  readonly up: readonly string[];
  readonly down: readonly string[];
  /** The last statements of a transaction that the file itself begins. */
  readonly guards: { readonly up: readonly string[]; readonly down: readonly string[] };
  /** A query that returns one number: 0 if everything is as the run wrote it. */
  readonly verify: string;
  /** The statement that begins the transaction; null: the other statements begin and end it. */
  readonly begin: string | null;
  /** Values in the crosswalks. */
  readonly values: number;
}

/** @throws SvcError `usage` if a target is of another kind */
export function assertTargetKinds(targets: readonly ApplyTarget[], { dialect }: EmitRequest): void {
  const other = targets.find(({ kind }) => kind !== dialect);
  if (other === undefined) return;
  const text = `Target ${other.name} is of kind ${other.kind}, and apply sql ${dialect} takes tables of kind ${dialect}.`;
  throw new SvcError('usage', text, {
    hint: 'Name the targets to write SQL for: `svc-migrate apply sql DIALECT ORDERS LINES`.',
  });
}

/** A file by its path in the output folder. */
export type EmittedFiles = ReadonlyMap<string, string>;

interface LayoutInput {
  readonly script: SqlScript;
  /** Comment lines at the start of every SQL file. */
  readonly head: string;
  /** The name of the migration: see `migrationName`. */
  readonly name: string;
  /** The version that migration tools order it by: see `versionIn`. */
  readonly version: string;
  readonly dialect: EmitDialect;
}

/** What the names of all files of a plan contain. */
export function migrationName(planSha256: string): string {
  return `svc_migrate_ids_${planSha256.slice(0, 6)}`;
}

/** A version such as `20261120141000`, for itself or at the start of a name. */
const VERSION = /^[UV]?(\d{14})(?=_)/;

/**
 * The version of a migration: the time of printing, in UTC. If a file of this migration is in the folder already, its
 * version. Otherwise later than that of every other migration of ours there, and no other migration's.
 *
 * @param names what the folder contains
 */
export function versionIn(names: readonly string[], name: string, nowMs: number): string {
  const versions = names.flatMap((file) => {
    const version = VERSION.exec(file)?.[1];
    return version === undefined ? [] : [{ file, version }];
  });
  const printed = versions.find(({ file }) => file.includes(name));
  if (printed !== undefined) return printed.version;
  const taken = new Set(versions.map(({ version }) => version));
  const ours = versions.filter(({ file }) => file.includes(migrationName('')));
  const last = ours.reduce((most, { version }) => Math.max(most, timeOf(version)), 0);
  let atMs = Math.max(nowMs, last + 1000);
  while (taken.has(formatVersion(atMs))) atMs += 1000;
  return formatVersion(atMs);
}

function formatVersion(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replaceAll(/[-:T]/g, '');
}

/** The time of a version in milliseconds; 0 if it is no time. */
function timeOf(version: string): number {
  const [, date = '', month = '', day = '', ...clock] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(version) ?? [];
  return Date.parse(`${date}-${month}-${day}T${clock.join(':')}Z`) || 0;
}

type File = readonly [path: string, text: string];
type Renderer = (input: LayoutInput) => File[];

interface Step {
  readonly statements: readonly string[];
  /** As in `SqlScript`. */
  readonly guard: readonly string[];
}

const upOf = ({ script: { up, guards } }: LayoutInput): Step => ({ statements: up, guard: guards.up });
const downOf = ({ script: { down, guards } }: LayoutInput): Step => ({
  statements: down,
  guard: guards.down,
});

/** Statements as one file. `isOwn`: the file begins and ends the transaction, because the tool does not. */
function sqlFile(
  { head, script: { begin } }: Pick<LayoutInput, 'head' | 'script'>,
  { statements, guard }: Step,
  isOwn: boolean,
): string {
  const all = isOwn && begin !== null ? [begin, ...statements, ...guard, 'COMMIT'] : statements;
  return `${head}\n${all.join(';\n\n')};\n`;
}

/** A query that returns 0 if everything is as the run wrote it. */
const verifySql = ({ head, script }: LayoutInput) => `${head}\n${script.verify};\n`;

function plain(input: LayoutInput): File[] {
  const { name } = input;
  return [
    [`${name}.up.sql`, sqlFile(input, upOf(input), true)],
    [`${name}.down.sql`, sqlFile(input, downOf(input), true)],
    [`${name}.verify.sql`, verifySql(input)],
  ];
}

/** How a client runs a file in one transaction, and stops at its first error. */
const CLIENTS: Readonly<Record<EmitDialect, (file: string) => string>> = {
  postgres: (file) => `psql -1 -v ON_ERROR_STOP=1 -f ${file}`,
  mysql: (file) => `mysql DATABASE < ${file}`,
  sqlite: (file) => `(echo 'BEGIN;'; cat ${file}; echo 'COMMIT;') | sqlite3 -bail DATABASE`,
};

/** The undo file of a Flyway migration, which Flyway's free edition does not run. */
const undoFile = ({ name, version }: Pick<LayoutInput, 'name' | 'version'>) => `U${version}__${name}.sql`;

function flyway(input: LayoutInput): File[] {
  const { name, version, dialect, head } = input;
  const undo = undoFile(input);
  const how = `-- Flyway's free edition does not run this file. Run it with ${CLIENTS[dialect](undo)}\n`;
  return [
    [`V${version}__${name}.sql`, sqlFile(input, upOf(input), false)],
    [undo, sqlFile({ ...input, head: how.replaceAll(';', ',') + head }, downOf(input), false)],
    [`${name}.verify.sql`, verifySql(input)],
  ];
}

function liquibase(input: LayoutInput): File[] {
  const { name, head } = input;
  const { statements } = upOf(input);
  const rollback = downOf(input).statements.flatMap((one) => `${one};`.split('\n'));
  const text = [
    `--liquibase formatted sql\n${head}`,
    `--changeset svc-migrate:${name}`,
    `${statements.join(';\n\n')};`,
    ...rollback.map((line) => `--rollback ${line}`),
  ];
  return [
    [`${name}.sql`, `${text.join('\n')}\n`],
    [`${name}.verify.sql`, verifySql(input)],
  ];
}

function prisma(input: LayoutInput): File[] {
  const folder = `${input.version}_${input.name}`;
  return [
    [`${folder}/migration.sql`, sqlFile(input, upOf(input), true)],
    [`${folder}/down.sql`, sqlFile(input, downOf(input), true)],
    [`${folder}/verify.sql`, verifySql(input)],
  ];
}

/** A folder of SQL files, and a migration in the tool's language that runs their statements one by one. */
function withRunner(extension: string, render: (folder: string, name: string) => string): Renderer {
  return (input) => {
    const folder = `${input.version}_${input.name}`;
    return [
      [`${folder}.${extension}`, render(folder, input.name)],
      [`${folder}/up.sql`, sqlFile(input, upOf(input), false)],
      [`${folder}/down.sql`, sqlFile(input, downOf(input), false)],
      [`${folder}/verify.sql`, verifySql(input)],
    ];
  };
}

/** `svc_migrate_ids_1a2b3c` → `SvcMigrateIds1a2b3c` */
function className(name: string): string {
  return name
    .split('_')
    .map((word) => `${word[0]?.toUpperCase() ?? ''}${word.slice(1)}`)
    .join('');
}

const rails = withRunner(
  'rb',
  (
    folder,
    name,
  ) => `# Runs ${folder}/up.sql and down.sql; statements are separated by a semicolon and an empty line.
class ${className(name)} < ActiveRecord::Migration[6.1]
  def up
    run_file("up.sql")
  end

  def down
    run_file("down.sql")
  end

  private

  def run_file(name)
    sql = File.read(File.join(__dir__, "${folder}", name), encoding: "UTF-8")
    sql.split(/;\\n\\n|;\\n\\z/).each { |statement| execute(statement) }
  end
end
`,
);

const knex = withRunner(
  'cjs',
  (
    folder,
  ) => `// Runs ${folder}/up.sql and down.sql; statements are separated by a semicolon and an empty line.
const { readFileSync } = require('node:fs');
const { join } = require('node:path');

async function runFile(knex, name) {
  const sql = readFileSync(join(__dirname, '${folder}', name), 'utf8');
  for (const statement of sql.split(/;\\n\\n|;\\n$/)) {
    if (statement.trim() !== '') await knex.raw(statement);
  }
}

exports.up = (knex) => runFile(knex, 'up.sql');
exports.down = (knex) => runFile(knex, 'down.sql');
`,
);

const RENDERERS: Readonly<Record<Layout, Renderer>> = { plain, flyway, liquibase, prisma, rails, knex };

/** The files of a script in a layout. `lines`: comments for their beginning. */
export function layOut(
  layout: Layout,
  { lines, ...input }: Omit<LayoutInput, 'head'> & { readonly lines: readonly string[] },
): EmittedFiles {
  // Some tools split a script at every semicolon, also in comments.
  const head = lines.map((line) => `-- ${line.replaceAll(/[\r\n]/g, ' ').replaceAll(';', ',')}\n`).join('');
  return new Map(RENDERERS[layout]({ ...input, head }));
}

/** What to do where a tool does not run one of the files; null: nothing. */
export function layoutNote(
  layout: Layout,
  input: Pick<LayoutInput, 'name' | 'version' | 'dialect'>,
): string | null {
  if (layout !== 'flyway') return null;
  return `Flyway's free edition does not run undo files: ${CLIENTS[input.dialect](undoFile(input))}`;
}
