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
import { columnLabel, type FileTarget, modelLabel } from '../../config/apply-targets.js';
import { describeFileError, errorCodeOf, SvcError } from '../../errors.js';
import type { ApplyContext, RunFacts, WriteResult } from '../context.js';
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
  outputOf,
  readSideCar,
  type SideCar,
  syncFolder,
  writeSideCar,
  writtenByAnother,
} from './side-car.js';
import { Copier, openColumns, streamTarget } from './stream-file.js';

/**
 * Writes the rewritten file: beside the old one, or in its place with the old one kept as a backup. The new content is
 * complete and recorded in the side-car before it gets its final name.
 *
 * @throws SvcError `bad_input` if the file changed since the plan, `disk`, `interrupted`
 */
export async function writeFile(
  context: ApplyContext,
  target: FileTarget,
  agreed: TargetPlan,
  run: RunFacts,
): Promise<WriteResult> {
  const output = outputOf(target, context.policy);
  const base = { target: target.name, skipped: [], skippedCount: 0 };
  if (agreed.earlier.state === 'finished') {
    const { run: done, done: changed } = agreed.earlier;
    finishSideCar(output);
    return { ...base, run: done ?? run.run, changed, alreadyDone: true };
  }
  try {
    const before = { stats: lstatSync(target.file, { bigint: true }) };
    const written = await writeBeside(context, target, agreed, run, { output, before });
    const { sideCar } = written;
    await putInPlace(target, output, written, before);
    writeSideCar(output, { ...sideCar, state: 'done' });
    return { ...base, run: run.run, changed: sideCar.changed, alreadyDone: false };
  } catch (error) {
    throw asDiskError(error, output);
  }
}

function temporaryOf(output: string): string {
  return `${output}.svc-migrate-tmp`;
}

/** The new content under its temporary name, and its record. */
interface WrittenBeside {
  readonly sideCar: SideCar;
  /** The inode of the temporary file. */
  readonly ino: number;
}

async function writeBeside(
  context: ApplyContext,
  target: FileTarget,
  agreed: TargetPlan,
  run: RunFacts,
  { output, before }: { readonly output: string; readonly before: Pick<FileSnapshot, 'stats'> },
): Promise<WrittenBeside> {
  const earlier = readSideCar(output);
  const temporary = temporaryOf(output);
  rmSync(temporary, { force: true });
  const fd = openSync(temporary, 'wx', statSync(target.file).mode & 0o777);
  try {
    const copier = new Copier((bytes) => writeFully(fd, bytes));
    const works = openColumns(context, target);
    const pass = await streamTarget(context, target, works, { step: 'writing', copier });
    if (pass.sha256 !== agreed.fingerprint) throw changedSincePlan(target.file);
    fsyncSync(fd);
    const sideCar = buildSideCar(context, target, run, {
      input: { file: basename(target.file), sha256: pass.sha256, bytes: pass.bytes },
      output: { file: basename(output), sha256: copier.sha256, bytes: copier.bytes },
      changed: pass.edits,
    });
    const found = readSideCar(output);
    const { nlink, ino } = fstatSync(fd);
    if (nlink === 0 || (found !== null && isOvertaken(output, earlier, found, sideCar)))
      throw writtenByAnother(output);
    if (sideCar.mode === 'in_place' && !isUnchangedFile(target.file, before))
      throw changedMeanwhile(target.file);
    writeSideCar(output, sideCar, found === null);
    return { sideCar, ino };
  } catch (error) {
    // A file without links was replaced by another process, which now uses the temporary name.
    if (fstatSync(fd).nlink > 0) rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
}

/**
 * Whether another process recorded the run `found` since `earlier` was read, or finished it since the plan. Its side-car
 * must stay: without it, that run could not be undone.
 */
function isOvertaken(output: string, earlier: SideCar | null, found: SideCar, own: SideCar): boolean {
  if (found.run !== earlier?.run || found.state !== earlier.state) return true;
  const isThere = lstatSync(output, { throwIfNoEntry: false }) !== undefined;
  return isThere && (found.state === 'done' || own.mode === 'new');
}

function writeFully(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

function buildSideCar(
  { policy, remapVersion, tool, now }: ApplyContext,
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
    remapSha256: remapVersion.sha256,
    planSha256: run.planSha256,
    policy: { missing: policy.missing, mapDeleted: policy.mapDeleted },
    columns: target.ids.map((one) => ({
      column: columnLabel(one),
      model: modelLabel(one),
    })),
    definition: target,
    at: new Date(now()).toISOString(),
    tool,
  };
}

/** Gives the new file its final name. `before`: the metadata of the input before it was read. */
async function putInPlace(
  target: FileTarget,
  output: string,
  { sideCar, ino }: WrittenBeside,
  before: Pick<FileSnapshot, 'stats'>,
): Promise<void> {
  const temporary = temporaryOf(output);
  // Another process may have begun a file of the same name.
  if (lstatSync(temporary, { throwIfNoEntry: false })?.ino !== ino) throw writtenByAnother(output);
  const backup = backupOf(output, sideCar);
  if (backup === null) {
    // Never replaces a file that was created meanwhile.
    renameToFreeName(temporary, output);
  } else {
    await keepBackup(target.file, backup, sideCar, before);
    if (!isUnchangedFile(target.file, before)) throw changedMeanwhile(target.file);
    renameSync(temporary, output);
  }
  syncFolder(dirname(output));
}

/** Keeps the original as a hard link, so that undo restores its bytes, times and owner. */
async function keepBackup(
  file: string,
  backup: string,
  sideCar: SideCar,
  before: Pick<FileSnapshot, 'stats'>,
): Promise<void> {
  const kept = await takeSnapshot(backup);
  if (kept?.sha256 === sideCar.input.sha256) return;
  if (kept !== null) {
    throw new SvcError('bad_input', `${backup} exists and is not the original of ${file}.`, {
      hint: 'Move it away, then run the same command again.',
    });
  }
  try {
    linkSync(file, backup);
  } catch {
    // Some file systems have no hard links.
    copyFileSync(file, backup, constants.COPYFILE_EXCL);
    return;
  }
  if (isUnchangedFile(backup, before)) return;
  rmSync(backup);
  throw changedMeanwhile(file);
}

/** Marks the side-car as done if the run was killed after it renamed the output. */
function finishSideCar(output: string): void {
  const sideCar = readSideCar(output);
  if (sideCar === null || sideCar.state === 'done') return;
  rmSync(temporaryOf(output), { force: true });
  writeSideCar(output, { ...sideCar, state: 'done' });
}

function changedSincePlan(file: string): SvcError {
  return new SvcError('bad_input', `${file} changed since the plan; nothing was written.`, {
    hint: 'Make sure that nobody writes to it, then plan again.',
  });
}

function asDiskError(error: unknown, output: string): unknown {
  if (error instanceof SvcError || !(error instanceof Error) || !('syscall' in error)) return error;
  return new SvcError('disk', `Cannot write ${output}: ${describeFileError(error)}.`, {
    hint: 'Check the folder or free disk space, then run the same command again.',
    facts: { error: errorCodeOf(error) },
    cause: error,
  });
}
