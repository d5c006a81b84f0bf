import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import { columnLabel, type FileTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import { parseJsonPath } from '../../json/json-path.js';
import { sha256OfFile } from '../../runtime/sha256.js';
import { blocks, type ColumnWork, checkColumn, openColumn } from '../column-work.js';
import type { ApplyContext, SurveyOptions } from '../context.js';
import { NamedRows } from '../context.js';
import {
  type Earlier,
  NO_EARLIER,
  type Note,
  type Policy,
  type TargetPlan,
  type UnmappedCount,
} from '../plan.js';
import { type CsvDialect, detectDialect } from '../text/csv-dialect.js';
import { buildCsvScanner } from '../text/csv-records.js';
import { buildNdjsonScanner } from '../text/ndjson-records.js';
import type { RecordDefect, RecordScanner } from '../text/records.js';

import { changedLines } from './changed-lines.js';
import { listFileLeft } from './file-left.js';
import { fileNotes } from './file-notes.js';
import { type Pass, passThrough } from './pass.js';
import { defaultOutput, findOutput, readSideCar, type SideCar } from './side-car.js';

const BYTES_PER_SECOND = 50_000_000;

/** Where the rewritten file stands. */
export function outputOf(target: FileTarget, policy: Policy): string {
  return policy.mode === 'in_place' ? target.file : (target.output ?? defaultOutput(target.file));
}

/** The target's columns, ready to look ids up. */
export function openColumns(context: ApplyContext, target: FileTarget): ColumnWork[] {
  return target.ids.map((column) => openColumn(context, column, context.policy));
}

/** Makes the scanner that fits the target; `onDialect` is told how a CSV file is written. */
export function scannerOf(
  target: FileTarget,
  works: readonly ColumnWork[],
  onDialect: (dialect: CsvDialect) => void = () => {},
): (head: Buffer) => RecordScanner {
  if (target.kind === 'ndjson') {
    assertPaths(target);
    const bom = (head: Buffer) => (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 3 : 0);
    return (head) => buildNdjsonScanner(works, bom(head));
  }
  const { file, delimiter, header } = target;
  const columns = target.ids.flatMap((one) =>
    [one.column, one.modelColumn, one.regionColumn, one.companyColumn].filter((name) => name !== undefined),
  );
  return (head) => {
    const dialect = detectDialect(head, { file, delimiter, header, columns });
    onDialect(dialect);
    return buildCsvScanner(dialect, works, head);
  };
}

function assertPaths(target: FileTarget): void {
  const paths = target.ids.flatMap((one) => [
    one.column,
    one.modelColumn,
    one.regionColumn,
    one.companyColumn,
  ]);
  for (const path of paths) {
    if (path === undefined || parseJsonPath(path) !== null) continue;
    throw new SvcError('config', `"${path}" in target ${target.name} is no JSON path.`, {
      hint: 'Write it like "$.invoice.id", "$.lines[*].invoice_id" or "$..invoice_id".',
    });
  }
}

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
  let dialect: CsvDialect | null = null;
  const buildScanner = scannerOf(target, works, (found) => {
    dialect = found;
  });
  const pass = await passThrough({
    file: target.file,
    buildScanner,
    copier: null,
    signal: context.signal,
    onBytes: (done, total) =>
      context.onProgress({ kind: 'step', name: `reading ${target.name}`, done, total }),
  });
  const earlier = await findEarlier(context, target, pass.sha256);
  const left = await listFileLeft(context, target, earlier.car, onUnmapped);
  return buildFilePlan(context, { target, works, pass, dialect, earlier, left });
}

interface Seen {
  readonly target: FileTarget;
  readonly works: readonly ColumnWork[];
  readonly pass: Pass;
  readonly dialect: CsvDialect | null;
  readonly earlier: FoundEarlier;
  readonly left: readonly (readonly UnmappedCount[])[];
}

function buildFilePlan(context: ApplyContext, seen: Seen): TargetPlan {
  const { target, works, pass, dialect, earlier, left } = seen;
  const { policy } = context;
  const { rows, defects } = pass.scanner.found();
  const output = outputOf(target, policy);
  const notes = [
    ...target.ids.flatMap((column) => checkColumn(context.remap, column)),
    ...fileNotes(target, policy.mode),
    ...defects.map((defect) => oddityNote(defect, policy)),
    ...earlier.notes,
    ...(dialect === null ? [] : [dialectNote(dialect)]),
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
