import type { SqlScript } from './build-script.js';
import type { Layout } from './emit-request.js';

/** A file by its path in the output folder. */
export type EmittedFiles = ReadonlyMap<string, string>;

interface LayoutInput {
  readonly script: SqlScript;
  /** Comment lines at the start of every SQL file. */
  readonly head: string;
  /** Two timestamps such as `20261120141000`, a second apart. */
  readonly stamps: readonly [string, string];
  /** Makes names unique where runs have the same timestamp. */
  readonly suffix: string;
}

/** A crosswalk with more values is loaded in a step of its own. */
const MAX_VALUES_INSIDE = 5000;

const nameOf = ({ suffix }: LayoutInput) => `svc_migrate_ids_${suffix}`;

type File = readonly [path: string, text: string];
type Renderer = (input: LayoutInput) => File[];

/** Statements for one file or change set. */
interface Step {
  /** Its name for people. */
  readonly title: string;
  /** Its name for migration tools, which order steps by their stamps. */
  readonly name: string;
  readonly stamp: string;
  readonly statements: readonly string[];
  /** As in `SqlScript`. */
  readonly guard: readonly string[];
}

/** One step up, or two if the crosswalk is large and loaded first; and one step down. */
function stepsOf(input: LayoutInput): {
  readonly up: readonly Step[];
  readonly down: Step;
} {
  const { script, stamps, suffix } = input;
  const { load, up, down, guards, values } = script;
  const [first, second] = stamps;
  const isLarge = values > MAX_VALUES_INSIDE;
  const own = { name: nameOf(input), stamp: isLarge ? second : first };
  return {
    up: isLarge
      ? [
          {
            title: 'up-1-crosswalk',
            name: `svc_migrate_crosswalk_${suffix}`,
            stamp: first,
            statements: load,
            guard: [],
          },
          { title: 'up-2-rewrite', ...own, statements: up, guard: guards.up },
        ]
      : [{ title: 'up', ...own, statements: [...load, ...up], guard: guards.up }],
    down: { title: 'down', ...own, statements: down, guard: guards.down },
  };
}

/** Statements as one file. `isOwn`: the file begins and ends the transaction, because the tool does not. */
function sqlFile(
  { head, script: { begin } }: LayoutInput,
  { statements, guard }: Pick<Step, 'statements' | 'guard'>,
  isOwn: boolean,
): string {
  const all = isOwn && begin !== null ? [begin, ...statements, ...guard, 'COMMIT'] : statements;
  return `${head}\n${all.join(';\n\n')};\n`;
}

/** A file for each step. `isOwn`: as in `sqlFile`. */
function withFiles(isOwn: boolean, pathOf: (step: Step, isDown: boolean) => string): Renderer {
  return (input) => {
    const { up, down } = stepsOf(input);
    return [...up, down].map((step) => [pathOf(step, step === down), sqlFile(input, step, isOwn)]);
  };
}

function liquibase(input: LayoutInput): File[] {
  const sets = stepsOf(input).up.map(({ name, statements }) => {
    const id = `${input.stamps[0]}-${name}`;
    const back = name === nameOf(input) ? input.script.down : ['SELECT 1'];
    const rollback = back.flatMap((one) => `${one};`.split('\n')).map((line) => `--rollback ${line}`);
    return `--changeset svc-migrate:${id}\n${statements.join(';\n\n')};\n${rollback.join('\n')}\n`;
  });
  return [[`${nameOf(input)}.sql`, `--liquibase formatted sql\n${input.head}\n${sets.join('\n')}`]];
}

/** A folder of SQL files, and a migration in the tool's language that runs their statements one by one. */
function withRunner(extension: string, render: (folder: string, suffix: string) => string): Renderer {
  return (input) => {
    const folder = `${input.stamps[0]}_${nameOf(input)}`;
    const { load, up, down } = input.script;
    return [
      [`${folder}.${extension}`, render(folder, input.suffix)],
      [`${folder}/up.sql`, sqlFile(input, { statements: [...load, ...up], guard: [] }, false)],
      [`${folder}/down.sql`, sqlFile(input, { statements: down, guard: [] }, false)],
    ];
  };
}

const rails = withRunner(
  'rb',
  (
    folder,
    suffix,
  ) => `# Runs ${folder}/up.sql and down.sql; statements are separated by a semicolon and an empty line.
class SvcMigrateIds${suffix[0]?.toUpperCase()}${suffix.slice(1)} < ActiveRecord::Migration[6.1]
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

const RENDERERS: Readonly<Record<Layout, Renderer>> = {
  plain: withFiles(true, ({ title }) => `${title}.sql`),
  flyway: withFiles(false, ({ name, stamp }, isDown) => `${isDown ? 'U' : 'V'}${stamp}__${name}.sql`),
  liquibase,
  prisma: withFiles(
    true,
    ({ name, stamp }, isDown) => `${stamp}_${name}/${isDown ? 'down' : 'migration'}.sql`,
  ),
  rails,
  knex,
};

/** The files of a script in a layout. */
export function layOut(
  layout: Layout,
  script: SqlScript,
  {
    atMs,
    suffix,
    lines,
  }: { readonly atMs: number; readonly suffix: string; readonly lines: readonly string[] },
): EmittedFiles {
  const stampOf = (ms: number) => new Date(ms).toISOString().slice(0, 19).replaceAll(/[-:T]/g, '');
  const head = lines.map((line) => `-- ${line}\n`).join('');
  const input: LayoutInput = { script, head, stamps: [stampOf(atMs), stampOf(atMs + 1000)], suffix };
  const files = RENDERERS[layout](input);
  return new Map([...files, ['verify.sql', `${head}\n${script.verify};\n`]]);
}
