import {
  closeSync,
  constants,
  copyFileSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname } from 'node:path';
import { columnLabel, type FileTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { ApplyContext, RunFacts, Written } from '../context.js';
import type { TargetPlan } from '../plan.js';
import {
  changedMeanwhile,
  type FileSnapshot,
  isUnchangedFile,
  renameToFreeName,
  takeSnapshot,
} from './file-snapshot.js';
import {
  backupName,
  backupOf,
  readSideCar,
  type SideCar,
  syncFolder,
  writeSideCar,
  writtenByAnother,
} from './side-car.js';
import { Copier, openColumns, outputOf, streamTarget } from './stream-file.js';

/**
 * Writes the rewritten file: beside the old one, or in its place with the old one kept as a backup. The new
 * content is complete and known to the side-car before it gets its name.
 *
 * @throws SvcError `bad_input` where the file is not the one that was planned for, `disk`, `interrupted`
 */
export async function writeFile(
  context: ApplyContext,
  target: FileTarget,
  agreed: TargetPlan,
  run: RunFacts,
): Promise<Written> {
  const output = outputOf(target, context.policy);
  const base = { target: target.name, skipped: [], skippedCount: 0 };
  if (agreed.earlier.state === 'finished') {
    const { run: done, done: changed } = agreed.earlier;
    settleSideCar(output);
    return { ...base, run: done ?? run.run, changed, alreadyDone: true };
  }
  try {
    const before = { stats: lstatSync(target.file, { bigint: true }) };
    const car = await writeBeside(context, target, agreed, run, output);
    await putInPlace(target, output, car, before);
    writeSideCar(output, { ...car, state: 'done' });
    return { ...base, run: run.run, changed: car.changed, alreadyDone: false };
  } catch (error) {
    throw asDiskError(error, output);
  }
}

function temporaryOf(output: string): string {
  return `${output}.svc-migrate-tmp`;
}

async function writeBeside(
  context: ApplyContext,
  target: FileTarget,
  agreed: TargetPlan,
  run: RunFacts,
  output: string,
): Promise<SideCar> {
  const isFirst = readSideCar(output) === null;
  const temporary = temporaryOf(output);
  rmSync(temporary, { force: true });
  const fd = openSync(temporary, 'wx', statSync(target.file).mode & 0o777);
  try {
    const copier = new Copier((bytes) => writeFully(fd, bytes));
    const works = openColumns(context, target);
    const pass = await streamTarget(context, target, works, { step: 'writing', copier });
    if (pass.sha256 !== agreed.fingerprint) throw changedSincePlan(target.file);
    fsyncSync(fd);
    const car = buildSideCar(context, target, run, {
      input: { file: basename(target.file), sha256: pass.sha256, bytes: pass.bytes },
      output: { file: basename(output), sha256: copier.sha256, bytes: copier.bytes },
      changed: pass.edits,
    });
    if (fstatSync(fd).nlink === 0) throw writtenByAnother(output);
    writeSideCar(output, car, isFirst);
    return car;
  } catch (error) {
    // Without a name it is another process's by now.
    if (fstatSync(fd).nlink > 0) rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
}

function writeFully(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

function buildSideCar(
  { policy, facts, tool, now }: ApplyContext,
  target: FileTarget,
  run: RunFacts,
  found: Pick<SideCar, 'input' | 'output' | 'changed'>,
): SideCar {
  const isInPlace = policy.mode === 'in_place';
  return {
    sideCarVersion: 1,
    run: run.run,
    target: target.name,
    mode: policy.mode,
    state: 'writing',
    ...found,
    backup: isInPlace ? backupName(target.file, run.run) : null,
    remapSha256: facts.sha256,
    planSha256: run.planSha256,
    policy: { missing: policy.missing, mapDeleted: policy.mapDeleted },
    columns: target.ids.map((one) => ({
      column: columnLabel(one),
      model: one.model ?? `by ${one.modelColumn}`,
    })),
    definition: target,
    at: new Date(now()).toISOString(),
    tool,
  };
}

/** `before`: the input as it was before it was read. */
async function putInPlace(
  target: FileTarget,
  output: string,
  car: SideCar,
  before: Pick<FileSnapshot, 'stats'>,
): Promise<void> {
  const temporary = temporaryOf(output);
  const backup = backupOf(output, car);
  if (backup === null) {
    // Unlike a rename, it never takes the place of a file that came meanwhile.
    renameToFreeName(temporary, output);
  } else {
    await keepBackup(target.file, backup, car);
    if (!isUnchangedFile(target.file, before)) throw changedMeanwhile(target.file);
    renameSync(temporary, output);
  }
  syncFolder(dirname(output));
}

/** A second name for the original, so that its own bytes, times and owner come back with it. */
async function keepBackup(file: string, backup: string, car: SideCar): Promise<void> {
  const kept = await takeSnapshot(backup);
  if (kept?.sha256 === car.input.sha256) return;
  if (kept !== null) {
    throw new SvcError('bad_input', `${backup} exists and is not the original of ${file}.`, {
      hint: 'Move it away, then run the same command again.',
    });
  }
  try {
    linkSync(file, backup);
  } catch {
    // Some file systems know no links.
    copyFileSync(file, backup, constants.COPYFILE_EXCL);
  }
}

/** The output stands under its name; a run killed right after that could not say so any more. */
function settleSideCar(output: string): void {
  const car = readSideCar(output);
  if (car === null || car.state === 'done') return;
  rmSync(temporaryOf(output), { force: true });
  writeSideCar(output, { ...car, state: 'done' });
}

function changedSincePlan(file: string): SvcError {
  return new SvcError('bad_input', `${file} changed since it was planned for; nothing was written.`, {
    hint: 'Make sure that nobody writes to it, then plan again.',
  });
}

function asDiskError(error: unknown, output: string): unknown {
  if (error instanceof SvcError || !(error instanceof Error) || !('syscall' in error)) return error;
  const code = 'code' in error ? String(error.code) : error.message;
  return new SvcError('disk', `Cannot write ${output} (${code}).`, {
    hint: 'Mend the folder or make room, then run the same command again.',
    facts: { error: code },
    cause: error,
  });
}
