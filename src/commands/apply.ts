import { existsSync } from 'node:fs';
import { Argument, Command } from '@commander-js/extra-typings';
import type { RemapIds } from '../apply/remap-ids.js';
import type { ApplyContext, TargetPlan } from '../apply/run-apply.js';
import type { Selection } from '../apply/select-targets.js';
import type { OutcomeCount } from '../apply/verdict.js';
import type { ApplyTarget } from '../config/apply-targets.js';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { findCommand } from './apply-find.js';
import { withRemap } from './apply-remap.js';
import type { DefineCommand, Io, Result, Run } from './command.js';
import { repeatable } from './options.js';

export const applyCommand: DefineCommand = (run) =>
  new Command('apply')
    .summary('rewrite stored ids: plan, write, check, switch, undo')
    .description(
      'Writes V4 ids beside the V3 ids, checks them, and switches. Each step can be looked at and taken back: svc-migrate help apply.',
    )
    .addCommand(findCommand(run))
    .addCommand(planCommand(run))
    .addCommand(writeCommand(run))
    .addCommand(checkCommand(run))
    .addCommand(switchCommand(run))
    .addCommand(undoCommand(run))
    .addCommand(sqlCommand(run));

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
    .option('--json <file>', 'write the result as JSON (- is stdout)');
}

const INCOMPLETE = ['--allow-incomplete', 'use a remap that was built before every list was read'] as const;
const YES = ['--yes', 'do not ask'] as const;

const planCommand = (run: Run) =>
  targetCommand('plan', 'what would be written, and what has no V4 id and why; changes nothing')
    .option(...INCOMPLETE)
    .addHelpText(
      'after',
      '\nExample:\n  svc-migrate apply plan shop.db --table orders --ids invoice_id=accounting/invoices',
    )
    .action((words, options, command) => run(command, ['json'], (io) => plan({ ...options, words }, io)));

const writeCommand = (run: Run) =>
  targetCommand('write', 'add COLUMN_v4 beside each column and fill it; a file gets a new file beside it')
    .option('--partial', 'leave the new cells of ids without a V4 id empty')
    .option(...INCOMPLETE)
    .option(...YES)
    .addHelpText(
      'after',
      '\nSafe to run again: it takes rows that came since.\n\nExample:\n  svc-migrate apply write --yes',
    )
    .action((words, options, command) => run(command, ['json'], (io) => write({ ...options, words }, io)));

const checkCommand = (run: Run) =>
  targetCommand('check', 'compare every cell with the remap, before and after the switch; changes nothing')
    .option(...INCOMPLETE)
    .addHelpText(
      'after',
      '\nExits with 1 if a cell is wrong, missing or changed.\n\nExample:\n  svc-migrate apply check --json check.json',
    )
    .action((words, options, command) => run(command, ['json'], (io) => check({ ...options, words }, io)));

const switchCommand = (run: Run) =>
  targetCommand('switch', 'in one transaction per table: COLUMN_v3 = COLUMN, COLUMN = COLUMN_v4')
    .option('--empty', 'set cells without a V4 id to NULL; COLUMN_v3 keeps the V3 id')
    .option(...YES)
    .addHelpText('after', '\nExample:\n  svc-migrate apply switch --yes')
    .action((words, options, command) =>
      run(command, ['json'], (io) => switchIds({ ...options, words }, io)),
    );

const undoCommand = (run: Run) =>
  targetCommand('undo', 'take a switch back, then drop everything that was added')
    .option(...YES)
    .addHelpText(
      'after',
      '\nRows that were changed since the switch stay and are named.\n\nExample:\n  svc-migrate apply undo --yes',
    )
    .action((words, options, command) => run(command, ['json'], (io) => undo({ ...options, words }, io)));

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
    .option('--json <file>', 'write the result as JSON (- is stdout)')
    .addHelpText('after', '\nExample:\n  svc-migrate apply sql postgres --output sql')
    .action((dialect, words, options, command) =>
      run(command, ['json'], (io) => printSql({ ...options, words }, dialect, options.output, io)),
    );

interface Options {
  readonly words: readonly string[];
  readonly table?: string | undefined;
  readonly ids?: readonly string[] | undefined;
  readonly json?: string | undefined;
  readonly allowIncomplete?: true | undefined;
  readonly yes?: true | undefined;
  readonly partial?: true | undefined;
  readonly empty?: true | undefined;
}

async function commandOf(
  action: string,
  { words, table, ids = [] }: Options,
  ...flags: string[]
): Promise<string> {
  const { shellLine } = await import('../text/escape.js');
  const tables = table === undefined ? [] : ['--table', table];
  const named = ['plan', 'write'].includes(action) ? [...tables, ...ids.flatMap((id) => ['--ids', id])] : [];
  return shellLine(['svc-migrate', 'apply', action, ...words, ...named, ...flags]);
}

async function contextOf(
  action: string,
  { env, signal, runUninterruptible, onProgress }: Io,
): Promise<ApplyContext> {
  const { LOCK_TIMEOUT_MS } = await import('../apply/db/database.js');
  onProgress({ kind: 'stage', name: `apply ${action}` });
  return { connection: { signal, runUninterruptible, lockTimeoutMs: LOCK_TIMEOUT_MS }, env, onProgress };
}

/** The configuration; null if a file or variable is named and there is no configuration. */
async function configFor(words: readonly string[], io: Io): Promise<Config | null> {
  const { findKind } = await import('../apply/select-targets.js');
  const [word] = words;
  const isPlace = words.length === 1 && word !== undefined && findKind(word, io.env) !== null;
  if (!isPlace) return io.config();
  try {
    return await io.config();
  } catch (error) {
    if (error instanceof SvcError && error.code === 'config') return null;
    throw error;
  }
}

async function select(options: Options, config: Config | null, io: Io): Promise<Selection[]> {
  const { selectTargets } = await import('../apply/select-targets.js');
  const { words, table, ids = [] } = options;
  return selectTargets({ words, table, ids }, config?.apply.targets ?? [], io.env);
}

function remapOf({ sha256, builtAt }: RemapIds): { readonly sha256: string; readonly builtAt: string } {
  return { sha256, builtAt };
}

async function countIds(columns: readonly { readonly counts: readonly OutcomeCount[] }[]) {
  const { sumOf, unmappedOf } = await import('../apply/verdict.js');
  const counts = columns.flatMap((column) => column.counts);
  const mapped = sumOf(
    counts.filter(({ name }) => name === 'mapped'),
    'ids',
  );
  const unmapped = unmappedOf(counts);
  const unknown = sumOf(
    unmapped.filter(({ name }) => name.startsWith('unknown/')),
    'ids',
  );
  const missing = sumOf(unmapped, 'ids') - unknown;
  const accepted = sumOf(
    unmapped.filter(({ isAccepted }) => isAccepted),
    'ids',
  );
  return { stored: mapped + missing + unknown, mapped, missing, unknown, accepted };
}

async function plan(options: Options, io: Io): Promise<Result> {
  const config = await io.config();
  const { requireTargets } = await import('../apply/select-targets.js');
  const targets = requireTargets(await select(options, config, io));
  return withRemap(config, options, async (remap, gateOf) => {
    const { planTargets } = await import('../apply/run-apply.js');
    const plans = await planTargets(targets, remap, await contextOf('plan', io));
    return planResult(plans, remap, await gateOf(io), options);
  });
}

async function planResult(
  plans: readonly TargetPlan[],
  remap: RemapIds,
  outcome: string,
  options: Options,
): Promise<Result> {
  const { lines, renderPlan } = await import('./apply-text.js');
  const ids = await countIds(plans.flatMap(({ columns }) => columns));
  const blocks = plans.flatMap(({ name, notes }) =>
    notes.filter(({ stops }) => stops === 'write').map((note) => ({ target: name, note })),
  );
  const open = ids.missing + ids.unknown;
  const isOpenRegion = hasOpenRegion(plans.flatMap(({ columns }) => columns));
  const isWrongPath = blocks.every(({ note }) => note.code === 'no_id_at_path');
  const exitCode = blocks.length > 0 ? (isWrongPath ? 2 : 6) : open > 0 ? 1 : 0;
  const isSwitched = plans.every(({ columns }) => columns.every(({ state }) => state === 'switched'));
  const next =
    blocks.length > 0
      ? 'remove what stands in the way, and plan again'
      : isSwitched
        ? await commandOf('check', options)
        : isOpenRegion
          ? NAME_REGION
          : await commandOf('write', options, ...(open > 0 ? ['--partial'] : []));
  const verdict = await describeIds(ids);
  return {
    exitCode,
    json: {
      action: 'plan',
      gate: { outcome },
      remap: remapOf(remap),
      ids,
      blocks,
      targets: plans,
      exitCode,
      next,
    },
    text: (style) => `${renderPlan(plans, outcome, style)}${lines([verdict, `Next: ${next}`], style)}`,
  };
}

const NAME_REGION =
  'name the region of these ids in "ids": "region", or the column that holds it, "regionColumn" (svc-migrate help apply)';

/** Whether ids have no V4 id only because two regions use them for different records. */
function hasOpenRegion(columns: readonly { readonly counts: readonly OutcomeCount[] }[]): boolean {
  return columns.some(({ counts }) => counts.some(({ name }) => name === 'unknown/several_scopes'));
}

function nextOfRefused(refused: Parameters<typeof hasOpenRegion>[0], otherwise: string): string {
  return hasOpenRegion(refused) ? NAME_REGION : `give these ids a V4 id or a decision, or ${otherwise}`;
}

async function describeIds({
  stored,
  mapped,
  missing,
  unknown,
  accepted,
}: Awaited<ReturnType<typeof countIds>>): Promise<string> {
  const { hasHave } = await import('./apply-text.js');
  const { countOf } = await import('../text/numbers.js');
  const open = missing + unknown;
  if (stored === 0) return 'No id is left to map.';
  const values = countOf(stored, 'stored value');
  if (open === 0) return stored === 1 ? 'The one stored value has a V4 id.' : `All ${values} have a V4 id.`;
  return `Of ${values}, ${mapped} ${hasHave(mapped)} a V4 id; ${open} ${hasHave(open)} none: the limits accept ${accepted}.`;
}

async function write(options: Options, io: Io): Promise<Result> {
  const { confirm } = await import('./confirm.js');
  if (options.yes !== true) (await import('./confirm.js')).assertTerminal(io);
  const config = await io.config();
  const { requireTargets } = await import('../apply/select-targets.js');
  const targets = requireTargets(await select(options, config, io));
  return withRemap(config, options, async (remap, gateOf) => {
    const { planTargets, writeTargets } = await import('../apply/run-apply.js');
    const context = await contextOf('write', io);
    if (options.yes !== true) {
      const plans = await planTargets(targets, remap, context);
      const { renderPlan } = await import('./apply-text.js');
      io.stderr.write(renderPlan(plans, await gateOf(io), io.style));
      if (!(await confirm(questionOf(targets), false, io))) return nothingDone('Nothing was written.');
    }
    const isPartial = options.partial === true;
    const result = await writeTargets(targets, remap, { isPartial }, context);
    return writeResult(result, remap, options);
  });
}

function questionOf(targets: readonly ApplyTarget[]): string {
  return `Write V4 ids beside the V3 ids of ${targets.map(({ name }) => name).join(', ')}?`;
}

function nothingDone(text: string): Result {
  return { exitCode: 0, text: () => `${text}\n` };
}

async function writeResult(
  result: Awaited<ReturnType<typeof import('../apply/run-apply.js')['writeTargets']>>,
  remap: RemapIds,
  options: Options,
): Promise<Result> {
  const { lines, renderRefusedWrite, renderWritten } = await import('./apply-text.js');
  const isRefused = result.refused.length > 0;
  const ids = await countIds(isRefused ? result.refused : result.written);
  const next = isRefused
    ? nextOfRefused(
        result.refused,
        `leave their new cells empty: ${await commandOf('write', options, '--partial')}`,
      )
    : await commandOf('check', options);
  const exitCode = isRefused ? 1 : 0;
  return {
    exitCode,
    json: { action: 'write', remap: remapOf(remap), ids, ...result, exitCode, next },
    text: (style) =>
      isRefused
        ? `${renderRefusedWrite(result, style)}${lines([`Next: ${next}`], style)}`
        : `${renderWritten(result, style)}${lines([`Next: ${next}`], style)}`,
  };
}

async function check(options: Options, io: Io): Promise<Result> {
  const config = await configFor(options.words, io);
  const selections = await select(options, config, io);
  const { checkTargets } = await import('../apply/run-apply.js');
  const context = await contextOf('check', io);
  if (config !== null && existsSync(config.database))
    return withRemap(config, options, async (remap) =>
      checkResult(await checkTargets(selections, remap, context), remap, options),
    );
  const text = 'There is no svc-migrate database: cells are compared with their crosswalks alone.';
  io.onProgress({ kind: 'note', level: 'warning', text });
  return checkResult(await checkTargets(selections, null, context), null, options);
}

async function checkResult(
  result: Awaited<ReturnType<typeof import('../apply/run-apply.js')['checkTargets']>>,
  remap: RemapIds | null,
  options: Options,
): Promise<Result> {
  const { isRight } = await import('../apply/plan-and-check.js');
  const { lines, renderCheck } = await import('./apply-text.js');
  const { columns, files } = result;
  const wrongFiles = files.filter((file) => !file.exists || file.wrongCount + file.missing > 0);
  const wrong = columns.filter((column) => !isRight(column));
  const isEmpty = columns.length + files.length === 0;
  const exitCode = isEmpty || wrong.length + wrongFiles.length > 0 ? 1 : 0;
  const isSwitched = columns.every(({ state }) => state === 'switched');
  const next =
    exitCode === 0
      ? isSwitched
        ? 'use the new ids; svc-migrate apply undo takes them back'
        : await commandOf('switch', options)
      : nextOfWrong(
          columns,
          await commandOf('write', options),
          await commandOf('switch', options, '--empty'),
        );
  const verdict = isEmpty
    ? 'Nothing was written there.'
    : exitCode === 0
      ? 'Every cell is as the remap says.'
      : 'NOT as the remap says.';
  return {
    exitCode,
    json: {
      action: 'check',
      remap: remap === null ? null : remapOf(remap),
      checked: columns,
      files,
      exitCode,
      next,
    },
    text: (style) => `${renderCheck(result, style)}${lines([verdict, `Next: ${next}`], style)}`,
  };
}

function nextOfWrong(
  columns: readonly {
    readonly state: string;
    readonly wrongCount: number;
    readonly missing: number;
    readonly differs: number | null;
  }[],
  write: string,
  empty: string,
): string {
  const isBeside = columns.filter(({ state }) => state !== 'switched');
  if (columns.length > 0 && isBeside.length === 0)
    return 'look at the rows above: COLUMN_v3 holds the V3 id, and the crosswalk its V4 id';
  const needsWrite = isBeside.some(
    ({ state, wrongCount, missing, differs }) =>
      wrongCount + missing + (differs ?? 0) > 0 || (state !== 'written' && state !== 'switching'),
  );
  return needsWrite || columns.length === 0
    ? write
    : `accept these ids in "limits", or set them to NULL: ${empty}`;
}

async function switchIds(options: Options, io: Io): Promise<Result> {
  const { confirm } = await import('./confirm.js');
  const config = await configFor(options.words, io);
  const selections = await select(options, config, io);
  const { switchTargets } = await import('../apply/run-apply.js');
  const { lines, renderSwitched } = await import('./apply-text.js');
  if (!(await confirm('Switch the columns to their V4 ids?', options.yes === true, io)))
    return nothingDone('Nothing was switched.');
  const isEmptying = options.empty === true;
  const result = await switchTargets(selections, { isEmptying }, await contextOf('switch', io));
  const exitCode = result.refused === null ? 0 : 1;
  const next =
    result.refused === null
      ? await commandOf('check', options)
      : `give these ids a V4 id or a decision and write again, or set them to NULL: ${await commandOf('switch', options, '--empty')}`;
  return {
    exitCode,
    json: { action: 'switch', ...result, exitCode, next },
    text: (style) => `${renderSwitched(result, style)}${lines([`Next: ${next}`], style)}`,
  };
}

async function undo(options: Options, io: Io): Promise<Result> {
  const { confirm } = await import('./confirm.js');
  const config = await configFor(options.words, io);
  const selections = await select(options, config, io);
  const { undoTargets } = await import('../apply/run-apply.js');
  const { lines, renderUndone } = await import('./apply-text.js');
  if (!(await confirm('Take the switch back and drop what was added?', options.yes === true, io)))
    return nothingDone('Nothing was taken back.');
  const result = await undoTargets(selections, await contextOf('undo', io));
  const stay = result.undone.reduce((sum, column) => sum + column.changedSinceCount, 0);
  const exitCode = stay === 0 ? 0 : 1;
  const next =
    stay === 0
      ? await commandOf('plan', options)
      : 'give the rows above their V3 ids before you write again: they would be taken for V3 ids';
  return {
    exitCode,
    json: { action: 'undo', ...result, exitCode, next },
    text: (style) => `${renderUndone(result, style)}${lines([`Next: ${next}`], style)}`,
  };
}

async function printSql(
  options: Options,
  dialect: 'sqlite' | 'postgres' | 'mysql',
  folder: string,
  io: Io,
): Promise<Result> {
  const config = await io.config();
  const { requireTargets } = await import('../apply/select-targets.js');
  const named = requireTargets(await select(options, config, io));
  const targets = options.words.length === 0 ? named.filter(({ kind }) => kind === dialect) : named;
  if (targets.length === 0) throw new SvcError('usage', `No target of ${dialect} is configured.`);
  return withRemap(config, options, async (remap) => {
    const { printTargets } = await import('../apply/run-apply.js');
    const context = await contextOf('sql', io);
    const scripts = await printTargets(
      targets,
      remap,
      { dialect, isEmptying: options.empty === true },
      context,
    );
    return sqlResult(scripts, remap, { options, dialect, folder }, io);
  });
}

async function sqlResult(
  { files, counts, values }: Awaited<ReturnType<typeof import('../apply/run-apply.js')['printTargets']>>,
  remap: RemapIds,
  {
    options,
    dialect,
    folder,
  }: { readonly options: Options; readonly dialect: string; readonly folder: string },
  io: Io,
): Promise<Result> {
  const { lines, renderRefusedWrite } = await import('./apply-text.js');
  const { unmappedOf } = await import('../apply/verdict.js');
  const ids = await countIds(counts);
  const refused = counts
    .filter((column) => unmappedOf(column.counts).length > 0)
    .map((column) => ({ ...column, place: column.target }));
  const base = { action: 'sql', dialect, remap: remapOf(remap), ids };
  if (refused.length > 0 && options.partial !== true) {
    const next = nextOfRefused(refused, 'pass --partial');
    return {
      exitCode: 1,
      json: { ...base, refused, exitCode: 1, next },
      text: (style) => `${renderRefusedWrite({ refused }, style)}${lines([`Next: ${next}`], style)}`,
    };
  }
  const { mkdirSync } = await import('node:fs');
  const { join } = await import('node:path');
  const { writeOutput } = await import('../runtime/write-output.js');
  mkdirSync(folder, { recursive: true });
  const written: string[] = [];
  for (const [name, text] of Object.entries(files)) {
    await writeOutput(join(folder, name), [text], io);
    written.push(join(folder, name));
  }
  const next = `run ${written[0]}, look at the new columns, then run ${written[1]} and ${written[2]}`;
  return {
    exitCode: 0,
    json: { ...base, folder, files: written, values, exitCode: 0, next },
    text: (style) => lines([...written, `Next: ${next}`], style),
  };
}
