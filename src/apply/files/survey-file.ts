import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { columnLabel, type FileTarget } from '../../config/apply-targets.js';
import { sha256OfFile } from '../../runtime/sha256.js';
import { blocks, type ColumnWork, checkColumn, openColumn } from '../column-work.js';
import { type ApplyContext, NamedRows, type SurveyOptions } from '../context.js';
import { watchUnmapped } from '../engine/unmapped-cells.js';
import {
  type Earlier,
  type Mode,
  NO_EARLIER,
  type Note,
  type Policy,
  type TargetPlan,
  type UnmappedCount,
} from '../plan.js';
import type { CsvDialect } from '../text/csv-dialect.js';
import type { RecordDefect, RecordPosition } from '../text/records.js';
import { type OnUnmapped, unmappedOfCounts } from '../unmapped.js';
import { changedLines, sourceOf } from './recompute.js';
import { findOutput, readSideCar, type SideCar, targetOfRun } from './side-car.js';
import { openColumns, outputOf, type Pass, streamTarget } from './stream-file.js';

const BYTES_PER_SECOND = 50_000_000;

/**
 * Reads a file and says what apply would do to it.
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
  const left = await listUnmappedInFile(context, target, earlier.car, onUnmapped);
  return buildFilePlan(context, { target, works, pass, earlier, left });
}

interface Seen {
  readonly target: FileTarget;
  readonly works: readonly ColumnWork[];
  readonly pass: Pass;
  readonly earlier: FoundEarlier;
  readonly left: readonly (readonly UnmappedCount[])[];
}

function buildFilePlan(context: ApplyContext, seen: Seen): TargetPlan {
  const { target, works, pass, earlier, left } = seen;
  const { policy } = context;
  const { rows, defects } = pass.scanner.found();
  const output = outputOf(target, policy);
  const notes = [
    ...target.ids.flatMap((column) => checkColumn(context.remap, column)),
    ...fileNotes(target, policy.mode),
    ...defects.map((defect) => oddityNote(defect, policy)),
    ...earlier.notes,
    ...(pass.scanner.dialect === null ? [] : [dialectNote(pass.scanner.dialect)]),
  ];
  return {
    name: target.name,
    kind: target.kind,
    place: target.file,
    definition: target,
    output: policy.mode === 'in_place' ? null : output,
    rows,
    columns: works.map(({ column, tally }, at) => {
      // What a run rewrote holds V4 ids: looked up as V3 ids they would be told to be others.
      const isRewritten = policy.mode === 'in_place' && earlier.earlier.state === 'finished';
      const tallied = isRewritten ? { counts: [], digest: '' } : tally.result();
      return {
        column: columnLabel(column),
        model: column.model ?? `by ${column.modelColumn}`,
        newColumn: null,
        counts: tallied.counts,
        left: left[at] ?? [],
        digest: tallied.digest,
      };
    }),
    earlier: earlier.earlier,
    notes,
    fingerprint: pass.sha256,
    estimateSeconds: Math.ceil(pass.bytes / BYTES_PER_SECOND),
  };
}

interface FoundEarlier {
  /** The side-car of a finished run. */
  readonly car: SideCar | null;
  readonly earlier: Earlier;
  readonly notes: readonly Note[];
}

/** What side-cars say: done already, half done, an output of ours, or free. */
async function findEarlier(context: ApplyContext, target: FileTarget, sha256: string): Promise<FoundEarlier> {
  const inPlace = context.policy.mode === 'in_place';
  const output = outputOf(target, context.policy);
  const car = readSideCar(output);
  const known = findOutput(dirname(target.file), sha256);
  if (known !== null && car?.mode === 'in_place' && inPlace && car.output.sha256 === sha256)
    return finished(context, target, output, car);
  if (known !== null) {
    const text = `${target.file} is what run ${known.run} wrote: its ids are V4 ids already.`;
    return blocked('known_output', text);
  }
  if (inPlace) {
    if (car === null || (car.state === 'writing' && car.input.sha256 === sha256)) return FREE;
    const text = `${target.file} was rewritten by run ${car.run} and changed since: it may hold ids of both kinds.`;
    return blocked('changed_output', text);
  }
  const own = readSideCar(target.file);
  if (own !== null && !(own.state === 'writing' && own.input.sha256 === sha256)) {
    const text = `${target.file} was written by run ${own.run} and changed since: it may hold ids of both kinds.`;
    return blocked('changed_output', text);
  }
  // A link that leads nowhere is there too.
  if (lstatSync(output, { throwIfNoEntry: false }) === undefined) return FREE;
  if (car === null) {
    return blocked('output_exists', `${output} exists and is not from svc-migrate; it is not overwritten.`);
  }
  const isSame = car.input.sha256 === sha256 && car.remapSha256 === context.facts.sha256;
  if (isSame && (car.state === 'done' || (await sha256OfFile(output)) === car.output.sha256))
    return finished(context, target, output, car);
  const text = `${output} is from run ${car.run}, made from another input or another remap; undo that run first.`;
  return blocked('output_exists', text);
}

const FREE: FoundEarlier = { car: null, earlier: NO_EARLIER, notes: [] };

function blocked(code: string, text: string): FoundEarlier {
  return { car: null, earlier: NO_EARLIER, notes: [blocks(code, text)] };
}

async function finished(
  context: ApplyContext,
  target: FileTarget,
  output: string,
  car: SideCar,
): Promise<FoundEarlier> {
  const changed =
    (await sha256OfFile(output)) === car.output.sha256
      ? new NamedRows()
      : await changedLines(context, target, output, car);
  const found = { changedSince: changed.count, changedRows: changed.names };
  const earlier = { ...NO_EARLIER, state: 'finished', run: car.run, done: car.changed, ...found } as const;
  return { car, earlier, notes: [] };
}

const ODDITIES: Readonly<Record<RecordDefect['code'], string>> = {
  short_rows: 'have fewer cells than the first one',
  long_rows: 'have more cells than the first one',
  unfinished_quote: 'open a quote that is never closed',
  not_json: 'are not JSON',
};

/** What is no clean record may hide ids: it stops everything unless unknown values are to be kept. */
function oddityNote({ code, count, places }: RecordDefect, policy: Policy): Note {
  const isRagged = code === 'short_rows' || code === 'long_rows';
  const level = isRagged && policy.unknown === 'keep' ? 'warning' : 'blocks';
  return { level, code, text: `${count} records ${ODDITIES[code]}: ${places.join('; ')}.` };
}

function dialectNote({ delimiter, terminator, header }: CsvDialect): Note {
  const separator = delimiter === 0x09 ? 'TAB' : `"${String.fromCharCode(delimiter)}"`;
  const text = `Read with separator ${separator}, ${header.length > 0 ? 'a header' : 'no header'}, records ending in ${
    terminator === 0x0a ? 'LF' : 'CR'
  }.`;
  return { level: 'info', code: 'dialect', text };
}

/**
 * What a finished run left without a V4 id, by column, from the source it read; without a run, nothing is counted, but
 * `onUnmapped` is told what a run would leave.
 */
async function listUnmappedInFile(
  context: ApplyContext,
  given: FileTarget,
  car: SideCar | null,
  onUnmapped: OnUnmapped | undefined,
): Promise<UnmappedCount[][]> {
  if (car === null && onUnmapped === undefined) return [];
  const state = car === null ? 'pending' : 'in_ledger';
  const target = car === null ? given : targetOfRun(car, given);
  const policy = { ...context.policy, ...car?.policy };
  const file = car === null ? given.file : sourceOf(given, outputOf(given, context.policy), car);
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
  if (car === null) return [];
  return plain.map(({ tally }) => unmappedOfCounts(state, tally.result().counts, policy));
}

/** What stands against rewriting a file whatever it holds. */
function fileNotes(target: FileTarget, mode: Mode): Note[] {
  return [...namedTwice(target), ...linkNotes(target, mode), ...lostSideCar(target)];
}

/** A cell would get both results, one after the other. In NDJSON the reader sees where paths meet. */
function namedTwice({ kind, ids }: FileTarget): Note[] {
  const columns = ids.map(({ column }) => column);
  const twice = columns.find((column, at) => columns.indexOf(column) !== at);
  if (kind !== 'csv' || twice === undefined) return [];
  return [blocks('named_twice', `${twice} is named twice: name it once.`)];
}

/** A file put in the place of a link would leave the one behind it as it was. */
function linkNotes({ file }: FileTarget, mode: Mode): Note[] {
  if (mode === 'new' || !lstatSync(file).isSymbolicLink()) return [];
  return [blocks('symbolic_link', `${file} is a symbolic link: name the file it leads to.`)];
}

const RUN_OF_BACKUP = /^\.(\d{8}-\d{6}-[0-9a-f]{4})\.v3$/;

/** An original beside a file that nothing tells of any more: the file may hold V4 ids. */
function lostSideCar({ file }: FileTarget): Note[] {
  if (readSideCar(file) !== null) return [];
  const name = basename(file);
  const found = readdirSync(dirname(file)).find(
    (one) => one.startsWith(name) && RUN_OF_BACKUP.test(one.slice(name.length)),
  );
  if (found === undefined) return [];
  const text = `${found} beside it is the original that a run kept, but ${name}.svc-migrate.json is gone: it may hold V4 ids. Bring that back, or move the original away.`;
  return [blocks('lost_side_car', text)];
}
