import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { LOCK_TIMEOUT_MS } from '../apply/db/database.js';
import { isRight } from '../apply/plan-and-check.js';
import { openRemapIds, type RemapIds } from '../apply/remap-ids.js';
import {
  type ApplyContext,
  type CheckResult,
  checkTargets,
  planTargets,
  printTargets,
  switchTargets,
  type TargetPlan,
  undoTargets,
  type WriteResult,
  writeTargets,
} from '../apply/run-apply.js';
import { findKind, requireTargets, type Selection, selectTargets } from '../apply/select-targets.js';
import { type OutcomeCount, sumOf, unmappedOf } from '../apply/verdict.js';
import type { ApplyTarget } from '../config/apply-targets.js';
import type { Config } from '../config/config.js';
import { EXIT_BY_CODE, SvcError, throwIfInterrupted } from '../errors.js';
import { judgeDatabase } from '../report/gate.js';
import { writeOutput } from '../runtime/write-output.js';
import { shellLine } from '../text/escape.js';
import { countOf, groupDigits } from '../text/numbers.js';
import {
  hasHave,
  lines,
  renderCheck,
  renderPlan,
  renderRefusedWrite,
  renderSwitched,
  renderUndone,
  renderWritten,
} from './apply-text.js';
import type { Io, Result, Style } from './command.js';
import { readVerifiedRemap } from './database.js';
import { placeOf } from './options.js';

export interface StepOptions {
  readonly words: readonly string[];
  readonly table?: string | undefined;
  readonly ids?: readonly string[] | undefined;
  readonly allowIncomplete?: true | undefined;
  readonly yes?: true | undefined;
  readonly partial?: true | undefined;
  readonly empty?: true | undefined;
}

/** Runs work with the remap and the outcome of its gate. @throws SvcError `incomplete`, `corrupt_database` */
export function withRemap<T>(
  config: Config,
  options: Pick<StepOptions, 'allowIncomplete'>,
  { clock }: Io,
  work: (remap: RemapIds, readGate: () => string) => Promise<T>,
): Promise<T> {
  return readVerifiedRemap(config, options, (db) =>
    work(openRemapIds(db, config.limits), () => judgeDatabase(db, config, {}, clock.now()).outcome),
  );
}

export function contextOf(action: string, { env, signal, runUninterruptible, onProgress }: Io): ApplyContext {
  onProgress({ kind: 'stage', name: `apply ${action}` });
  return { connection: { signal, runUninterruptible, lockTimeoutMs: LOCK_TIMEOUT_MS }, env, onProgress };
}

/** Null if a file or variable is named and there is no configuration. */
async function configFor(words: readonly string[], io: Io): Promise<Config | null> {
  const [word] = words;
  const isPlace = words.length === 1 && word !== undefined && findKind(word, io.env) !== null;
  try {
    return await io.config();
  } catch (error) {
    if (isPlace && error instanceof SvcError && error.code === 'config') return null;
    throw error;
  }
}

function select({ words, table, ids = [] }: StepOptions, config: Config | null, io: Io): Selection[] {
  return selectTargets({ words, table, ids }, config?.apply.targets ?? [], io.env);
}

/** @throws SvcError `usage`, also for a model, field or region that is not configured */
function targetsOf(options: StepOptions, config: Config, io: Io): ApplyTarget[] {
  const targets = requireTargets(select(options, config, io));
  for (const { model, models = {}, region } of targets.flatMap(({ ids }) => ids)) {
    for (const name of [model ?? null, ...Object.values(models)]) {
      if (name !== null) placeOf(name, { region }, config);
    }
  }
  return targets;
}

function commandOf(action: string, { words, table, ids = [] }: StepOptions, ...flags: string[]): string {
  const tables = table === undefined ? [] : ['--table', table];
  const named = ['plan', 'write'].includes(action) ? [...tables, ...ids.flatMap((id) => ['--ids', id])] : [];
  return shellLine(['svc-migrate', 'apply', action, ...words, ...named, ...flags]);
}

/** Asks before a step changes the user's data. @throws SvcError `usage` if there is nobody to ask */
async function confirm(question: string, io: Io): Promise<boolean> {
  const { stdin, stderr, signal } = io;
  assertTerminal(io);
  stderr.write(`${question} [y/N] `);
  for await (const line of createInterface({ input: stdin, signal })) return /^y(?:es)?$/i.test(line.trim());
  // Ctrl-C, or Ctrl-D.
  await throwIfInterrupted(signal);
  return false;
}

function assertTerminal({ stdin, stderr }: Io): void {
  if (stdin.isTTY === true && stderr.isTTY === true) return;
  throw new SvcError('usage', 'This changes your data: without --yes, it needs an interactive terminal.', {
    hint: 'Look at `svc-migrate apply plan`, then pass --yes.',
  });
}

function nothingDone(text: string): Result {
  return { exitCode: 0, text: () => `${text}\n` };
}

function resultOf(facts: object, exitCode: number, next: string, render: (style: Style) => string): Result {
  return {
    exitCode,
    json: { ...facts, exitCode, next },
    text: (style) => `${render(style)}${lines([`Next: ${next}`], style)}`,
  };
}

function remapOf({ sha256, builtAt }: RemapIds): { readonly sha256: string; readonly builtAt: string } {
  return { sha256, builtAt };
}

interface Counted {
  readonly counts: readonly OutcomeCount[];
}

function countIds(columns: readonly Counted[]) {
  const counts = columns.flatMap((column) => column.counts);
  const unmapped = unmappedOf(counts);
  const mapped = sumOf(
    counts.filter(({ name }) => name === 'mapped'),
    'ids',
  );
  const unknown = sumOf(
    unmapped.filter(({ name }) => name.startsWith('unknown/')),
    'ids',
  );
  const accepted = sumOf(
    unmapped.filter(({ isAccepted }) => isAccepted),
    'ids',
  );
  const open = sumOf(unmapped, 'ids');
  return { stored: mapped + open, mapped, missing: open - unknown, unknown, accepted };
}

function describeIds({ stored, mapped, accepted }: ReturnType<typeof countIds>): string {
  const open = stored - mapped;
  if (stored === 0) return 'There is no V3 id to map.';
  const values = countOf(stored, 'stored value');
  if (open === 0) return stored === 1 ? 'The only stored value has a V4 id.' : `All ${values} have a V4 id.`;
  return `Of ${values}, ${groupDigits(mapped)} ${hasHave(mapped)} a V4 id; ${groupDigits(open)} ${hasHave(open)} none (accepted by limits: ${groupDigits(accepted)}).`;
}

const NAME_REGION =
  'name the region of these ids in "ids": "region", or the column that holds it, "regionColumn" (svc-migrate help apply)';

/** Whether ids have no V4 id only because two regions use them for different records. */
function hasOpenRegion(columns: readonly Counted[]): boolean {
  return columns.some(({ counts }) => counts.some(({ name }) => name === 'unknown/several_scopes'));
}

/** What to do about ids without a V4 id. An id that a limit accepts needs nothing. */
function nextOfUnmapped(columns: readonly Counted[], otherwise: string): string {
  if (hasOpenRegion(columns)) return NAME_REGION;
  const { stored, mapped, accepted } = countIds(columns);
  return stored - mapped === accepted
    ? otherwise
    : `give the ids that no limit accepts a V4 id or a decision, or ${otherwise}`;
}

export async function plan(options: StepOptions, io: Io): Promise<Result> {
  const config = await io.config();
  const targets = targetsOf(options, config, io);
  const context = contextOf('plan', io);
  return withRemap(config, options, io, async (remap, readGate) => {
    const plans = await planTargets(targets, remap, context);
    return planResult(plans, remap, readGate(), options);
  });
}

function planResult(
  plans: readonly TargetPlan[],
  remap: RemapIds,
  outcome: string,
  options: StepOptions,
): Result {
  const columns = plans.flatMap((target) => target.columns);
  const ids = countIds(columns);
  const blocks = plans.flatMap(({ name, notes }) =>
    notes.filter(({ stops }) => stops === 'write').map((note) => ({ target: name, note })),
  );
  const isOpen = ids.stored > ids.mapped;
  const isAccepted = ids.stored - ids.mapped === ids.accepted;
  const isWrongPath = blocks.every(({ note }) => note.code === 'no_id_at_path');
  const facts = {
    action: 'plan',
    gate: { outcome },
    remap: remapOf(remap),
    ids,
    blocks,
    targets: plans,
  };
  const exitCode = blocks.length > 0 ? (isWrongPath ? 2 : 6) : isAccepted ? 0 : 1;
  const nextStep = () => {
    if (blocks.length > 0) return 'resolve each STOP above, then plan again';
    if (columns.every(({ state }) => state === 'switched')) return commandOf('check', options);
    const command = commandOf('write', options, ...(isOpen ? ['--partial'] : []));
    return isAccepted ? command : nextOfUnmapped(columns, `leave new cells empty: ${command}`);
  };
  return resultOf(
    facts,
    exitCode,
    nextStep(),
    (style) => `${renderPlan(plans, outcome, style)}${lines([describeIds(ids)], style)}`,
  );
}

export async function write(options: StepOptions, io: Io): Promise<Result> {
  if (options.yes !== true) assertTerminal(io);
  const config = await io.config();
  const targets = targetsOf(options, config, io);
  const context = contextOf('write', io);
  return withRemap(config, options, io, async (remap, readGate) => {
    if (options.yes !== true) {
      const plans = await planTargets(targets, remap, context);
      io.stderr.write(renderPlan(plans, readGate(), io.style));
      const names = targets.map(({ name }) => name).join(', ');
      if (!(await confirm(`Write V4 ids beside the V3 ids of ${names}?`, io)))
        return nothingDone('Nothing was written.');
    }
    const isPartial = options.partial === true;
    return writeResult(await writeTargets(targets, remap, { isPartial }, context), remap, options);
  });
}

function writeResult(result: WriteResult, remap: RemapIds, options: StepOptions): Result {
  const { refused, written } = result;
  const isRefused = refused.length > 0;
  const ids = countIds(isRefused ? refused : written);
  const facts = { action: 'write', remap: remapOf(remap), ids, ...result };
  if (!isRefused)
    return resultOf(facts, 0, commandOf('check', options), (style) => renderWritten(result, style));
  const partial = `leave their new cells empty: ${commandOf('write', options, '--partial')}`;
  return resultOf(facts, 1, nextOfUnmapped(refused, partial), (style) => renderRefusedWrite(result, style));
}

export async function check(options: StepOptions, io: Io): Promise<Result> {
  const config = await configFor(options.words, io);
  const selections = select(options, config, io);
  const context = contextOf('check', io);
  const checkWith = async (remap: RemapIds | null) =>
    checkResult(await checkTargets(selections, remap, context), remap, options);
  if (config !== null && existsSync(config.database)) return withRemap(config, options, io, checkWith);
  const text = 'There is no svc-migrate database: cells are compared with their crosswalks alone.';
  io.onProgress({ kind: 'note', level: 'warning', text });
  return checkWith(null);
}

function checkResult(result: CheckResult, remap: RemapIds | null, options: StepOptions): Result {
  const { columns, files } = result;
  const isEmpty = columns.length + files.length === 0;
  const isWrong =
    !columns.every(isRight) || files.some((file) => !file.exists || file.wrongCount + file.missing > 0);
  const facts = {
    action: 'check',
    remap: remap === null ? null : remapOf(remap),
    checked: columns,
    files,
  };
  const verdict = isEmpty
    ? 'Nothing was written there.'
    : isWrong
      ? 'Some cells DIFFER from the remap.'
      : 'Every cell agrees with the remap.';
  const next = isEmpty || isWrong ? nextOfWrong(columns, options) : nextOfRight(columns, options);
  return resultOf(
    facts,
    isEmpty || isWrong ? 1 : 0,
    next,
    (style) => `${renderCheck(result, style)}${lines([verdict], style)}`,
  );
}

function nextOfRight(columns: CheckResult['columns'], options: StepOptions): string {
  const beside = columns.filter(({ state }) => state !== 'switched');
  if (beside.length === 0) return 'use the new ids; svc-migrate apply undo reverses the switch';
  const isOpen = beside.some(({ unmapped }) => unmapped.length > 0);
  return commandOf('switch', options, ...(isOpen ? ['--empty'] : []));
}

function nextOfWrong(columns: CheckResult['columns'], options: StepOptions): string {
  const isBeside = columns.filter(({ state }) => state !== 'switched');
  if (columns.length > 0 && isBeside.length === 0)
    return 'look at the rows above: COLUMN_v3 holds the V3 id, and the crosswalk its V4 id';
  const needsWrite = isBeside.some(
    ({ state, wrongCount, missing, differs }) =>
      wrongCount + missing + (differs ?? 0) > 0 || (state !== 'written' && state !== 'switching'),
  );
  if (needsWrite || columns.length === 0) return commandOf('write', options);
  return `accept these ids in "limits", or set them to NULL: ${commandOf('switch', options, '--empty')}`;
}

export async function switchIds(options: StepOptions, io: Io): Promise<Result> {
  const config = await configFor(options.words, io);
  const selections = select(options, config, io);
  if (options.yes !== true && !(await confirm('Switch the columns to their V4 ids?', io)))
    return nothingDone('Nothing was switched.');
  const isEmptying = options.empty === true;
  const result = await switchTargets(selections, { isEmptying }, contextOf('switch', io));
  const isRefused = result.refused !== null;
  const next = isRefused
    ? `set these cells to NULL: ${commandOf('switch', options, '--empty')}, or give their ids a V4 id and write again`
    : commandOf('check', options);
  const isStopped = isRefused && result.switched.some(({ alreadyDone }) => !alreadyDone);
  const exitCode = isStopped ? EXIT_BY_CODE.apply_stopped : isRefused ? 1 : 0;
  return resultOf({ action: 'switch', ...result }, exitCode, next, (style) => renderSwitched(result, style));
}

export async function undo(options: StepOptions, io: Io): Promise<Result> {
  const config = await configFor(options.words, io);
  const selections = select(options, config, io);
  if (options.yes !== true && !(await confirm('Reverse the switch and drop what was added?', io)))
    return nothingDone('Nothing was undone.');
  const result = await undoTargets(selections, contextOf('undo', io));
  const hasChanges = result.undone.some((column) => column.changedSinceCount > 0);
  const next = hasChanges
    ? 'restore the V3 ids of the rows above before you write again: their V4 ids would be taken for V3 ids'
    : commandOf('plan', options);
  return resultOf({ action: 'undo', ...result }, hasChanges ? 1 : 0, next, (style) =>
    renderUndone(result, style),
  );
}

export async function printSql(
  options: StepOptions,
  dialect: 'sqlite' | 'postgres' | 'mysql',
  folder: string,
  io: Io,
): Promise<Result> {
  const config = await io.config();
  const named = targetsOf(options, config, io);
  const targets = options.words.length === 0 ? named.filter(({ kind }) => kind === dialect) : named;
  if (targets.length === 0)
    throw new SvcError('usage', `No target of ${dialect} is configured.`, {
      hint: 'Add one to "apply.targets", or name a file or environment variable.',
    });
  const context = contextOf('sql', io);
  const isEmptying = options.empty === true;
  return withRemap(config, options, io, async (remap) => {
    const scripts = await printTargets(targets, remap, { dialect, isEmptying }, context);
    const { files, counts, values } = scripts;
    const facts = { action: 'sql', dialect, remap: remapOf(remap), ids: countIds(counts) };
    const refused = counts
      .filter((column) => unmappedOf(column.counts).length > 0)
      .map((column) => ({ ...column, place: column.target }));
    if (refused.length > 0 && options.partial !== true) {
      return resultOf({ ...facts, refused }, 1, nextOfUnmapped(refused, 'pass --partial'), (style) =>
        renderRefusedWrite({ refused }, style),
      );
    }
    const written = await writeScripts(files, folder, io);
    const next = `run ${written[0]}, look at the new columns, then run ${written[1]} and ${written[2]}`;
    return resultOf({ ...facts, folder, files: written, values }, 0, next, (style) => lines(written, style));
  });
}

async function writeScripts(files: object, folder: string, io: Io): Promise<string[]> {
  mkdirSync(folder, { recursive: true });
  const written: string[] = [];
  for (const [name, text] of Object.entries(files)) {
    written.push(join(folder, name));
    await writeOutput(join(folder, name), [text], io);
  }
  return written;
}
