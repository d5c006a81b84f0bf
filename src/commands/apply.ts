import { Argument, Command } from '@commander-js/extra-typings';
import type { StepOptions } from './apply-steps.js';
import type { DefineCommand, Run } from './command.js';
import { repeatable } from './options.js';

export const applyCommand: DefineCommand = (run) =>
  new Command('apply')
    .summary('rewrite stored ids: find, plan, write, check, switch, undo, sql')
    .description(
      'Writes V4 ids beside the V3 ids, checks them, and switches the columns. Each step can be inspected and undone: svc-migrate help apply.',
    )
    .addCommand(findCommand(run))
    .addCommand(planCommand(run))
    .addCommand(writeCommand(run))
    .addCommand(checkCommand(run))
    .addCommand(switchCommand(run))
    .addCommand(undoCommand(run))
    .addCommand(sqlCommand(run));

const INCOMPLETE = ['--allow-incomplete', 'use a remap that was built before every list was read'] as const;
const YES = ['--yes', 'do not ask for confirmation'] as const;
const JSON_FILE = ['--json <file>', 'write the result as JSON (- is stdout)'] as const;

const findCommand = (run: Run) =>
  new Command('find')
    .summary('which tables and columns hold V3 ids, as lines for the configuration')
    .description(
      'Compares a sample of every column with the remap and prints lines for the configuration. Changes nothing.',
    )
    .argument(
      '[places...]',
      'files, or environment variables with the address of a database (default: those of the configuration)',
    )
    .option(...INCOMPLETE)
    .option(...JSON_FILE)
    .addHelpText('after', '\nExample:\n  svc-migrate apply find shop.db')
    .action((places, options, command) =>
      run(command, ['json'], async (io) => {
        const { find } = await import('./apply-find.js');
        return find(places, options, io);
      }),
    );

function targetCommand(name: string, summary: string) {
  return new Command(name)
    .summary(summary)
    .description(`${summary[0]?.toUpperCase()}${summary.slice(1)}.`)
    .argument(
      '[targets...]',
      'configured targets (default: all), or one file, or one environment variable with the address of a database',
    )
    .option('--table <name>', 'table in a database that is not configured')
    .option(
      '--ids <column=model>',
      'column with ids and their V3 model, or an entry of "ids" as JSON; repeatable',
      repeatable,
    )
    .option(...JSON_FILE);
}

/** Runs a step with what its command line says. */
function act(run: Run, step: 'plan' | 'write' | 'check' | 'switchIds' | 'undo') {
  return (
    words: readonly string[],
    options: Omit<StepOptions, 'words'>,
    command: Parameters<Run>[0],
  ): Promise<void> =>
    run(command, ['json'], async (io) => {
      const steps = await import('./apply-steps.js');
      return steps[step]({ ...options, words }, io);
    });
}

const planCommand = (run: Run) =>
  targetCommand('plan', 'what would be written, and what has no V4 id and why; changes nothing')
    .option(...INCOMPLETE)
    .addHelpText(
      'after',
      '\nExample:\n  svc-migrate apply plan shop.db --table orders --ids invoice_id=accounting/invoices',
    )
    .action(act(run, 'plan'));

const writeCommand = (run: Run) =>
  targetCommand('write', 'add COLUMN_v4 beside each column and fill it; a file gets a new file beside it')
    .option('--partial', 'leave the new cells of ids without a V4 id empty')
    .option(...INCOMPLETE)
    .option(...YES)
    .addHelpText(
      'after',
      '\nSafe to run again: it picks up new and changed rows.\n\nExample:\n  svc-migrate apply write --yes',
    )
    .action(act(run, 'write'));

const checkCommand = (run: Run) =>
  targetCommand('check', 'compare every cell with the remap, before and after the switch; changes nothing')
    .option(...INCOMPLETE)
    .addHelpText(
      'after',
      '\nExits with 1 if a cell is wrong, missing or changed.\n\nExample:\n  svc-migrate apply check --json check.json',
    )
    .action(act(run, 'check'));

const switchCommand = (run: Run) =>
  targetCommand('switch', 'in one transaction per table: COLUMN_v3 = COLUMN, COLUMN = COLUMN_v4')
    .option('--empty', 'set cells without a V4 id to NULL; COLUMN_v3 keeps the V3 id')
    .option(...YES)
    .addHelpText('after', '\nExample:\n  svc-migrate apply switch --yes')
    .action(act(run, 'switchIds'));

const undoCommand = (run: Run) =>
  targetCommand('undo', 'reverse the switch, then drop everything that was added')
    .option(...YES)
    .addHelpText(
      'after',
      '\nRows that were changed since the switch are left alone and named; the exit code is then 1.\n\nExample:\n  svc-migrate apply undo --yes',
    )
    .action(act(run, 'undo'));

const sqlCommand = (run: Run) =>
  new Command('sql')
    .summary('the same statements as files: write.sql, check.sql, switch.sql, undo.sql')
    .description(
      'Writes the statements of write, check, switch and undo as files, for the shell of the database. Changes nothing else.',
    )
    .addArgument(
      new Argument('<dialect>', 'kind of the database').choices(['sqlite', 'postgres', 'mysql'] as const),
    )
    .argument(
      '[targets...]',
      'configured targets (default: all of the kind), or one file or environment variable',
    )
    .requiredOption('--output <folder>', 'folder for the files')
    .option('--table <name>', 'table in a database that is not configured')
    .option('--ids <column=model>', 'column with ids and their V3 model; repeatable', repeatable)
    .option('--partial', 'leave the new cells of ids without a V4 id empty')
    .option('--empty', 'let switch.sql set cells without a V4 id to NULL')
    .option(...INCOMPLETE)
    .option(...JSON_FILE)
    .addHelpText('after', '\nExample:\n  svc-migrate apply sql postgres --output sql')
    .action((dialect, words, { output, ...options }, command) =>
      run(command, ['json'], async (io) => {
        const { printSql } = await import('./apply-steps.js');
        return printSql({ ...options, words }, dialect, output, io);
      }),
    );
