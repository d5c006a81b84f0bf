import type { SqlScript } from './build-script.js';
import type { Layout } from './emit-request.js';

/** A file by its path in the output folder. */
export type EmittedFiles = ReadonlyMap<string, string>;

interface LayoutInput {
  readonly script: SqlScript;
  /** Comment lines at the start of every SQL file. */
  readonly head: string;
  /** `20261120141000`, and a second later. */
  readonly stamps: readonly [string, string];
}

/** Above this number of values the crosswalk gets a step of its own. */
const MOST_VALUES_INSIDE = 5000;

const NAME = 'svc_migrate_ids';

/** Statements as one file. `isOwn`: the file begins and ends the transaction, because the tool does not. */
function sqlFile({ head, script }: LayoutInput, statements: readonly string[], isOwn: boolean): string {
  const all = isOwn && script.begin !== null ? [script.begin, ...statements, 'COMMIT'] : statements;
  return `${head}\n${all.join(';\n\n')};\n`;
}

/** The steps up: one, or the crosswalk first where it is large. */
function stepsUp({ script }: LayoutInput): readonly (readonly string[])[] {
  const isLarge = script.values > MOST_VALUES_INSIDE;
  return isLarge ? [script.load, script.up] : [[...script.load, ...script.up]];
}

function plain(input: LayoutInput): [string, string][] {
  const steps = stepsUp(input).map((step) => sqlFile(input, step, true));
  const names = steps.length === 1 ? ['up.sql'] : ['up-1-crosswalk.sql', 'up-2-rewrite.sql'];
  return [
    ...steps.map((sql, at): [string, string] => [names[at] ?? '', sql]),
    ['down.sql', sqlFile(input, input.script.down, true)],
  ];
}

function flyway(input: LayoutInput): [string, string][] {
  const steps = stepsUp(input).map((step) => sqlFile(input, step, false));
  const [first, second] = input.stamps;
  const last = steps.length === 1 ? first : second;
  const versions =
    steps.length === 1 ? [`${first}__${NAME}`] : [`${first}__svc_migrate_crosswalk`, `${second}__${NAME}`];
  return [
    ...steps.map((sql, at): [string, string] => [`V${versions[at]}.sql`, sql]),
    [`U${last}__${NAME}.sql`, sqlFile(input, input.script.down, false)],
  ];
}

function liquibase({ script, head, stamps }: LayoutInput): [string, string][] {
  const steps = stepsUp({ script, head, stamps });
  const sets = steps.map((statements, at) => {
    const id = at === 0 && steps.length > 1 ? `${stamps[0]}-crosswalk` : `${stamps[0]}-${NAME}`;
    const back = at === steps.length - 1 ? script.down : ['SELECT 1'];
    const rollback = back.flatMap((one) => `${one};`.split('\n')).map((line) => `--rollback ${line}`);
    return `--changeset svc-migrate:${id}\n${statements.join(';\n\n')};\n${rollback.join('\n')}\n`;
  });
  return [[`${NAME}.sql`, `--liquibase formatted sql\n${head}\n${sets.join('\n')}`]];
}

function prisma(input: LayoutInput): [string, string][] {
  const steps = stepsUp(input).map((step) => sqlFile(input, step, true));
  const folders = steps.map((_, at) =>
    at === steps.length - 1 ? `${input.stamps[at]}_${NAME}` : `${input.stamps[at]}_svc_migrate_crosswalk`,
  );
  return [
    ...steps.map((sql, at): [string, string] => [`${folders[at]}/migration.sql`, sql]),
    [`${folders.at(-1)}/down.sql`, sqlFile(input, input.script.down, true)],
  ];
}

/** A folder of SQL files, and a migration in the tool's language that runs their statements one by one. */
function withRunner(
  extension: string,
  render: (folder: string) => string,
): (input: LayoutInput) => [string, string][] {
  return (input) => {
    const folder = `${input.stamps[0]}_${NAME}`;
    return [
      [`${folder}.${extension}`, render(folder)],
      [`${folder}/up.sql`, sqlFile(input, [...input.script.load, ...input.script.up], false)],
      [`${folder}/down.sql`, sqlFile(input, input.script.down, false)],
    ];
  };
}

const rails = withRunner(
  'rb',
  (
    folder,
  ) => `# Runs ${folder}/up.sql and down.sql; statements are separated by a semicolon and an empty line.
class SvcMigrateIds < ActiveRecord::Migration[6.1]
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

const RENDERERS: Readonly<Record<Layout, (input: LayoutInput) => [string, string][]>> = {
  plain,
  flyway,
  liquibase,
  prisma,
  rails,
  knex,
};

/** The files of a script in a layout. */
export function layOut(
  layout: Layout,
  script: SqlScript,
  { atMs, lines }: { readonly atMs: number; readonly lines: readonly string[] },
): EmittedFiles {
  const stampOf = (ms: number) => new Date(ms).toISOString().slice(0, 19).replaceAll(/[-:T]/g, '');
  const head = lines.map((line) => `-- ${line}\n`).join('');
  const input: LayoutInput = { script, head, stamps: [stampOf(atMs), stampOf(atMs + 1000)] };
  const files = RENDERERS[layout](input);
  return new Map([...files, ['verify.sql', `${head}\n${script.verify};\n`]]);
}
