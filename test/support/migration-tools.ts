import { execFile } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ENGINES, openKnex } from './engines.js';

const run = promisify(execFile);

/** A database: a SQLite file, or the address of a PostgreSQL database. */
export type Place =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres'; readonly url: string };

/** A migration tool that runs itself; each step is a process of its own, as in a pipeline. */
export interface MigrationTool {
  readonly layout: string;
  readonly kinds: readonly Place['kind'][];
  /** Runs what is pending in a folder. `names`: what was printed there, in its order. */
  up(place: Place, folder: string, names: readonly string[]): Promise<void>;
  /** Takes back the last migration. */
  down(place: Place, folder: string, names: readonly string[]): Promise<void>;
}

const RAILS = `
require "active_record"
require "sqlite3"
require "pg"
url, folder, step = ARGV
exit if url.nil?
ActiveRecord::Base.establish_connection(url)
ActiveRecord::Migration.verbose = false
migrations = ActiveRecord::MigrationContext.new(folder, ActiveRecord::SchemaMigration)
step == "up" ? migrations.migrate : migrations.rollback(1)
`;

const rails: MigrationTool = {
  layout: 'rails',
  kinds: ['sqlite', 'postgres'],
  up: (place, folder) => runRails(place, folder, 'up'),
  down: (place, folder) => runRails(place, folder, 'down'),
};

async function runRails(place: Place, folder: string, step: string): Promise<void> {
  await run('ruby', [
    '-e',
    RAILS,
    place.kind === 'sqlite' ? `sqlite3:${place.file}` : place.url,
    folder,
    step,
  ]);
}

const LIQUIBASE = join(ENGINES, 'node_modules/node-liquibase/dist');
const SQLITE_JDBC = '/usr/share/java/sqlite-jdbc.jar';

const liquibase: MigrationTool = {
  layout: 'liquibase',
  kinds: ['sqlite', 'postgres'],
  up: (place, folder, names) => runLiquibase(place, folder, names, ['update']),
  down: (place, folder, names) => runLiquibase(place, folder, names, ['rollbackCount', '1']),
};

async function runLiquibase(place: Place, folder: string, names: readonly string[], step: readonly string[]) {
  const log = {
    databaseChangeLog: names.map((file) => ({ include: { file, relativeToChangelogFile: true } })),
  };
  writeFileSync(join(folder, 'all.json'), JSON.stringify(log));
  const jars = ['liquibase', 'liquibase/lib', 'drivers'].flatMap((at) =>
    readdirSync(join(LIQUIBASE, at)).flatMap((name) =>
      /^(?!.*javadoc).*\.jar$/.test(name) ? [join(LIQUIBASE, at, name)] : [],
    ),
  );
  const { hostname, port, pathname, username } = new URL(place.kind === 'sqlite' ? 'http://x' : place.url);
  const url =
    place.kind === 'sqlite'
      ? `jdbc:sqlite:${place.file}`
      : `jdbc:postgresql://${hostname}:${port}${pathname}?user=${username}`;
  const main = ['-cp', [...jars, SQLITE_JDBC].join(':'), 'liquibase.integration.commandline.Main'];
  const options = [`--url=${url}`, '--changeLogFile=all.json', '--classpath=.'];
  // The JVM compiles less, because it lives a second.
  await run('java', ['-XX:TieredStopAtLevel=1', ...main, ...options, ...step], { cwd: folder });
}

const knex: MigrationTool = {
  layout: 'knex',
  kinds: ['postgres'],
  up: (place, folder) => runKnex(place, folder, 'latest'),
  down: (place, folder) => runKnex(place, folder, 'down'),
};

async function runKnex(place: Place, directory: string, step: 'latest' | 'down'): Promise<void> {
  if (place.kind === 'sqlite' || openKnex === null) throw new Error('Knex runs on PostgreSQL here');
  const client = openKnex(place.url);
  try {
    await client.migrate[step]({ directory, loadExtensions: ['.cjs'] });
  } finally {
    await client.destroy();
  }
}

/** What starts a tool without work; null where it is not installed, which is said loudly: then nothing is proved of it. */
async function orNull(tool: MigrationTool, name: string, isThere: () => Promise<boolean>) {
  if (await isThere().catch(() => false)) return tool;
  process.stderr.write(
    `\n*** NOT TESTED: ${name} is not installed, so its migrations were not run; .ci/run installs it. ***\n\n`,
  );
  return null;
}

/** The tools that are installed here. Of Flyway and Prisma only the files are tested, not the tools. */
export const MIGRATION_TOOLS: readonly MigrationTool[] = (
  await Promise.all([
    orNull(knex, 'Knex', async () => openKnex !== null),
    orNull(rails, 'ActiveRecord', async () => (await run('ruby', ['-e', RAILS])).stderr === ''),
    orNull(liquibase, 'Liquibase', async () => {
      await run('java', ['-version']);
      return existsSync(join(LIQUIBASE, 'liquibase/liquibase.jar')) && existsSync(SQLITE_JDBC);
    }),
  ])
).filter((tool) => tool !== null);
