import { resolve } from 'node:path';
import { type FindResult, findIds, findInFile, type Proposal } from '../apply/find.js';
import type { RemapIds } from '../apply/remap-ids.js';
import { findKind, openPlace } from '../apply/select-targets.js';
import type { ApplyTarget } from '../config/apply-targets.js';
import { SvcError } from '../errors.js';
import { escapeLines } from '../text/escape.js';
import { groupDigits } from '../text/numbers.js';
import { renderTable } from '../text/table.js';
import { wrapLines } from '../text/wrap.js';
import { contextOf, withRemap } from './apply-steps.js';
import type { Io, Result, Style } from './command.js';

interface Place extends FindResult {
  readonly kind: ApplyTarget['kind'];
  readonly file?: string;
  readonly urlEnv?: string;
}

/** Looks for V3 ids in the named files and databases; by default in the configured ones. */
export async function find(
  words: readonly string[],
  options: { readonly allowIncomplete?: true },
  io: Io,
): Promise<Result> {
  const config = await io.config();
  const configured = config.apply.targets.map((target) => ('file' in target ? target.file : target.urlEnv));
  const names = words.length > 0 ? words : [...new Set(configured)];
  if (names.length === 0) {
    throw new SvcError('usage', 'No place to search was named.', {
      hint: 'Name a file, or an environment variable with the address of a database.',
    });
  }
  const { connection, env } = contextOf('find', io);
  const findInPlace = async (name: string, remap: RemapIds): Promise<Place> => {
    const kind = findKind(name, env);
    if (kind === null)
      throw new SvcError('usage', `"${name}" is neither a file nor an environment variable.`);
    const file = resolve(name);
    if (kind === 'csv' || kind === 'ndjson') return { kind, file, ...findInFile(file, kind, remap) };
    const place = kind === 'sqlite' ? { kind, file } : { kind, urlEnv: name };
    const db = await openPlace(place, 'read', connection, env);
    try {
      return { ...place, ...(await db.transaction('read', () => findIds(db, remap))) };
    } finally {
      await db.close();
    }
  };
  return withRemap(config, options, io, async (remap) => {
    const places: Place[] = [];
    for (const name of names) places.push(await findInPlace(name, remap));
    return findResult(places, remap.regions);
  });
}

function findResult(places: readonly Place[], regions: readonly string[]): Result {
  const targets = places.flatMap(targetsOf);
  const next =
    targets.length === 0
      ? 'name columns yourself: svc-migrate help apply'
      : 'paste the lines into the configuration, then svc-migrate apply plan';
  const proposals = places.flatMap(({ columns }) => columns);
  const notes = [
    ...places.flatMap(({ unseen }) => unseen.map(({ what, why }) => `Not read: ${what}: ${why}`)),
    ...proposals
      .filter(
        ({ standing, region, regionColumn }) =>
          standing === 'likely' && region === null && regionColumn === null && regions.length > 1,
      )
      .map(
        (proposal) =>
          `Name the region of ${labelOf(proposal)}, "region" or "regionColumn": ${regions.join(', ')}.`,
      ),
  ];
  const text = ({ width, verbose }: Style) => {
    const rows = proposals.filter(({ standing }) => verbose || standing !== 'none').map(rowOf);
    const table = rows.length === 0 ? ['No column holds V3 ids.'] : renderTable(COLUMNS, rows, width);
    const toPaste = targets.map((target) => `${escapeLines(JSON.stringify(target))},\n`).join('');
    return `${table.join('\n')}\n${wrapLines(notes.map(escapeLines), width)}${toPaste}Next: ${next}\n`;
  };
  return { exitCode: 0, json: { action: 'find', places, apply: { targets }, exitCode: 0, next }, text };
}

function targetsOf({ kind, file, urlEnv, columns }: Place): object[] {
  const likely = columns.filter(({ standing }) => standing === 'likely');
  return [...new Set(likely.map(({ table }) => table))].map((table) => ({
    name: table ?? file?.split('/').at(-1) ?? kind,
    kind,
    ...(file === undefined ? { urlEnv } : { file }),
    ...(table === null ? {} : { table }),
    ids: likely.filter((column) => column.table === table).map(idOf),
  }));
}

function idOf({ column, path, model, region, regionColumn }: Proposal): object {
  const scope = regionColumn !== null ? { regionColumn } : region !== null ? { region } : {};
  return { column, ...(path === null ? {} : { path }), model, ...scope };
}

const COLUMNS = [
  { title: 'column' },
  { title: 'holds V3 ids' },
  { title: 'model' },
  { title: 'values seen', numeric: true },
  { title: 'V3', numeric: true },
  { title: 'V4', numeric: true },
];

function rowOf(proposal: Proposal): string[] {
  const { standing, model, seen, v3, v4 } = proposal;
  const counts = [seen, v3, v4].map((count) => groupDigits(count));
  return [labelOf(proposal), standing.replace('_', ' '), model ?? '', ...counts].map(escapeLines);
}

function labelOf({ table, column, path }: Proposal): string {
  return `${table === null ? '' : `${table}.`}${column}${path === null ? '' : ` ${path}`}`;
}
