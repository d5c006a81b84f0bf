import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { FileTarget } from '../../config/apply-targets.js';
import { sha256OfFile } from '../../runtime/sha256.js';
import { type ColumnWork, checkColumn, openColumn } from '../column-work.js';
import { type ApplyContext, NamedRows, type SurveyOptions } from '../context.js';
import { buildColumnPlans, watchUnmapped } from '../engine/column-plans.js';
import { isMissing } from '../judge-plan.js';
import {
  blocks,
  type Earlier,
  type Mode,
  NO_EARLIER,
  type Note,
  type PlanCount,
  type Policy,
  type TargetPlan,
  type UnmappedCount,
} from '../plan.js';
import type { RecordDefect, RecordPosition } from '../text/record-scanner.js';
import { type OnUnmapped, unmappedOfCounts } from '../unmapped.js';
import { changedLines, sourceOf } from './recompute.js';
import { findOutput, outputOf, readSideCar, type SideCar, targetOfRun } from './side-car.js';
import { openColumns, type Pass, streamTarget } from './stream-file.js';

/**
 * Reads a file and plans what apply would do to it.
 *
 * @throws SvcError `bad_input`, `config`, `interrupted`
 */
export async function surveyFile(
  context: ApplyContext,
  target: FileTarget,
  { onUnmapped }: SurveyOptions = {},
): Promise<TargetPlan> {
  const works = openColumns(context, target);
  const pass = await streamTarget(context, target, works, { step: 'reading' });
  const earlier = await findEarlier(context, target, pass.sha256);
  const left = await listUnmappedInFile(context, target, earlier.sideCar, onUnmapped);
  return buildFilePlan(context, { target, works, pass, earlier, left });
}

interface ReadFile {
  readonly target: FileTarget;
  readonly works: readonly ColumnWork[];
  readonly pass: Pass;
  readonly earlier: FoundEarlier;
  readonly left: readonly (readonly UnmappedCount[])[];
}

function buildFilePlan(context: ApplyContext, seen: ReadFile): TargetPlan {
  const { target, works, pass, earlier, left } = seen;
  const { policy } = context;
  const { rows, defects } = pass.scanner.found();
  const output = outputOf(target, policy);
  const isRewritten = policy.mode === 'in_place' && earlier.earlier.state === 'finished';
  const columns = works.flatMap((work, at) => buildColumnPlans(work, 'in_place', [left[at] ?? []]));
  const notes = [
    ...target.ids.flatMap((column) => checkColumn(context, column)),
    ...fileNotes(target, policy.mode),
    ...defects.map((defect) => defectNote(defect, policy)),
    ...earlier.notes,
  ];
  return {
    name: target.name,
    kind: target.kind,
    place: target.file,
    definition: target,
    output: policy.mode === 'in_place' ? null : output,
    rows,
    // A file rewritten in place holds V4 ids; counting them as V3 ids would be wrong.
    columns: isRewritten ? columns.map((column) => ({ ...column, counts: [], digest: '' })) : columns,
    earlier: earlier.earlier,
    notes,
    fingerprint: pass.sha256,
    changes: countChanges(context, seen),
  };
}

/** The cells that a run will change. */
function countChanges({ policy }: ApplyContext, { works, earlier }: ReadFile): number {
  if (earlier.earlier.state === 'finished') return 0;
  const empties = policy.missing === 'null' || (policy.missing === 'keep' && policy.mode === 'new');
  const isChanged = (one: PlanCount) => one.name === 'mapped' || (empties && isMissing(one));
  const counts = works.flatMap(({ tally }) => tally.result().counts.filter(isChanged));
  return counts.reduce((sum, one) => sum + one.rows, 0);
}

interface FoundEarlier {
  /** The side-car of a finished run. */
  readonly sideCar: SideCar | null;
  readonly earlier: Earlier;
  readonly notes: readonly Note[];
}

/** Decides from the side-cars whether a run rewrote the file already, or a file is in the way of the output. */
export async function findEarlier(
  context: ApplyContext,
  target: FileTarget,
  sha256: string,
): Promise<FoundEarlier> {
  const inPlace = context.policy.mode === 'in_place';
  const output = outputOf(target, context.policy);
  const sideCar = readSideCar(output);
  const known = findOutput(dirname(target.file), sha256);
  const isOwn = inPlace && sideCar?.mode === 'in_place' && sideCar.output.sha256 === sha256;
  // If a run changed nothing, its output equals its input, which `findOutput` does not report.
  if (isOwn && (known !== null || sideCar.state === 'done'))
    return finished(context, target, output, sideCar);
  if (known !== null) {
    const text = `${target.file} is what run ${known.run} wrote: its ids are V4 ids already.`;
    return blocked('known_output', text);
  }
  if (inPlace) {
    if (sideCar === null || (sideCar.state === 'writing' && sideCar.input.sha256 === sha256)) return FREE;
    const text = `${target.file} was rewritten by run ${sideCar.run} and changed since: it may hold ids of both kinds.`;
    return blocked('changed_output', text);
  }
  const own = readSideCar(target.file);
  if (own !== null && !(own.state === 'writing' && own.input.sha256 === sha256)) {
    const text = `${target.file} was written by run ${own.run} and changed since: it may hold ids of both kinds.`;
    return blocked('changed_output', text);
  }
  // `lstat`, because a dangling link exists too.
  if (lstatSync(output, { throwIfNoEntry: false }) === undefined) return FREE;
  if (sideCar === null) {
    return blocked('output_exists', `${output} exists and is not from svc-migrate; it is not overwritten.`);
  }
  const isSame = sideCar.input.sha256 === sha256 && sideCar.remapSha256 === context.remapVersion.sha256;
  if (isSame && (sideCar.state === 'done' || (await sha256OfFile(output)) === sideCar.output.sha256))
    return finished(context, target, output, sideCar);
  const text = `${output} is from run ${sideCar.run}, made from another input or another remap; undo that run first.`;
  return blocked('other_output', text);
}

const FREE: FoundEarlier = { sideCar: null, earlier: NO_EARLIER, notes: [] };

function blocked(code: string, text: string): FoundEarlier {
  return { sideCar: null, earlier: NO_EARLIER, notes: [blocks(code, text)] };
}

async function finished(
  context: ApplyContext,
  target: FileTarget,
  output: string,
  sideCar: SideCar,
): Promise<FoundEarlier> {
  const changed =
    (await sha256OfFile(output)) === sideCar.output.sha256
      ? new NamedRows()
      : await changedLines(context, target, output, sideCar);
  const found = { changedSince: changed.count, changedRows: changed.names };
  const earlier = {
    ...NO_EARLIER,
    state: 'finished',
    run: sideCar.run,
    done: sideCar.changed,
    ...found,
  } as const;
  return { sideCar, earlier, notes: [] };
}

const DEFECTS: Readonly<Record<RecordDefect['code'], string>> = {
  short_rows: 'have fewer cells than the first one',
  long_rows: 'have more cells than the first one',
  unfinished_quote: 'open a quote that is never closed',
  not_json: 'are not JSON',
};

/** Malformed records may hide ids, so they block; ragged rows only warn if unknown values are kept. */
function defectNote({ code, count, places }: RecordDefect, policy: Policy): Note {
  const isRagged = code === 'short_rows' || code === 'long_rows';
  const level = isRagged && policy.unknown === 'keep' ? 'warning' : 'blocks';
  return { level, code, text: `${count} records ${DEFECTS[code]}: ${places.join('; ')}.` };
}

/**
 * Counts the values that a finished run left without a V4 id, by column, from its source. Without a run nothing is
 * counted, but `onUnmapped` is called for the values that a run would leave.
 */
async function listUnmappedInFile(
  context: ApplyContext,
  given: FileTarget,
  sideCar: SideCar | null,
  onUnmapped: OnUnmapped | undefined,
): Promise<UnmappedCount[][]> {
  if (sideCar === null && onUnmapped === undefined) return [];
  const state = sideCar === null ? 'pending' : 'in_ledger';
  const target = sideCar === null ? given : targetOfRun(sideCar, given);
  const policy = { ...context.policy, ...sideCar?.policy };
  const file = sideCar === null ? given.file : sourceOf(given, outputOf(given, context.policy), sideCar);
  if (!existsSync(file)) return [];
  let position = (): RecordPosition => ({ row: 0, line: 0 });
  const plain = target.ids.map((column) => openColumn(context, column, policy));
  const works =
    onUnmapped === undefined
      ? plain
      : plain.map((work) =>
          watchUnmapped(work, { state, policy }, target.name, onUnmapped, () => position()),
        );
  await streamTarget(context, { ...target, file }, works, {
    step: 'looking over',
    onScanner: (scanner) => {
      position = () => scanner.position();
    },
  });
  if (sideCar === null) return [];
  return plain.map(({ tally }) => unmappedOfCounts(state, tally.result().counts, policy));
}

/** Notes that do not depend on the content of a file. */
function fileNotes(target: FileTarget, mode: Mode): Note[] {
  return [...namedTwice(target), ...linkNotes(target, mode), ...lostSideCar(target)];
}

/** A column named twice would be rewritten twice. For NDJSON the scanner detects overlapping paths. */
function namedTwice({ kind, ids }: FileTarget): Note[] {
  const columns = ids.map(({ column }) => column);
  const twice = columns.find((column, at) => columns.indexOf(column) !== at);
  if (kind !== 'csv' || twice === undefined) return [];
  return [blocks('named_twice', `${twice} is named twice: name it once.`)];
}

/** Replacing a symbolic link would leave the file it points to unchanged. */
function linkNotes({ file }: FileTarget, mode: Mode): Note[] {
  if (mode === 'new' || !lstatSync(file).isSymbolicLink()) return [];
  return [blocks('symbolic_link', `${file} is a symbolic link: name the file it leads to.`)];
}

const RUN_OF_BACKUP = /^\.(\d{8}-\d{6}-[0-9a-f]{4})\.v3$/;

/** A backup without a side-car: the file beside it may hold V4 ids. */
function lostSideCar({ file }: FileTarget): Note[] {
  if (readSideCar(file) !== null) return [];
  const name = basename(file);
  const found = readdirSync(dirname(file)).find(
    (one) => one.startsWith(name) && RUN_OF_BACKUP.test(one.slice(name.length)),
  );
  if (found === undefined) return [];
  const text = `${found} beside it is the original that a run kept, but ${name}.svc-migrate.json is gone: it may hold V4 ids. Restore that file, or move the original elsewhere.`;
  return [blocks('lost_side_car', text)];
}
