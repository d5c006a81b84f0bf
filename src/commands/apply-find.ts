import { resolve } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import type { FindResult, Proposal } from '../apply/find.js';
import type { RemapIds } from '../apply/remap-ids.js';
import type { ApplyTarget } from '../config/apply-targets.js';
import { SvcError } from '../errors.js';
import type { Io, Result, Run, Style } from './command.js';

export const findCommand = (run: Run) =>
  new Command('find')
    .summary('which tables and columns hold V3 ids, as lines for the configuration')
    .description(
      'Compares a sample of every column with the remap and prints lines for the configuration. Changes nothing.',
    )
    .argument(
      '[places...]',
      'files, or environment variables with the address of a database (default: those of the configuration)',
    )
    .option('--allow-incomplete', 'use a remap that was built before every list was read')
    .option('--json <file>', 'write the result as JSON (- is stdout)')
    .addHelpText('after', '\nExample:\n  svc-migrate apply find shop.db')
    .action((places, options, command) => run(command, ['json'], (io) => find(places, options, io)));

interface Place extends FindResult {
  readonly kind: ApplyTarget['kind'];
  readonly file?: string;
  readonly urlEnv?: string;
}

async function find(
  words: readonly string[],
  options: { readonly allowIncomplete?: true },
  io: Io,
): Promise<Result> {
  const config = await io.config();
  const configured = config.apply.targets.map((target) => ('file' in target ? target.file : target.urlEnv));
  const names = words.length > 0 ? words : [...new Set(configured)];
  if (names.length === 0) {
    throw new SvcError('usage', 'Nothing to look at was named.', {
      hint: 'Name a file, or an environment variable with the address of a database.',
    });
  }
  const { withRemap } = await import('./apply-remap.js');
  io.onProgress({ kind: 'stage', name: 'apply find' });
  return withRemap(config, options, async (remap) => {
    const places: Place[] = [];
    for (const name of names) places.push(await findInPlace(name, remap, io));
    return findResult(places, remap.regions);
  });
}

async function findInPlace(name: string, remap: RemapIds, io: Io): Promise<Place> {
  const { findKind } = await import('../apply/select-targets.js');
  const { findIds, findInFile } = await import('../apply/find.js');
  const kind = findKind(name, io.env);
  if (kind === null) throw new SvcError('usage', `"${name}" is neither a file nor an environment variable.`);
  if (kind === 'csv' || kind === 'ndjson') {
    const file = resolve(name);
    return { kind, file, ...findInFile(file, kind, remap) };
  }
  const { LOCK_TIMEOUT_MS } = await import('../apply/db/database.js');
  const { openPlace } = await import('../apply/select-targets.js');
  const { signal, runUninterruptible, env } = io;
  const place = kind === 'sqlite' ? { kind, file: resolve(name) } : { kind, urlEnv: name };
  const db = await openPlace(
    place,
    'read',
    { signal, runUninterruptible, lockTimeoutMs: LOCK_TIMEOUT_MS },
    env,
  );
  try {
    return { ...place, ...(await db.transaction('read', () => findIds(db, remap))) };
  } finally {
    await db.close();
  }
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

function idOf({ column, path, model, region }: Proposal): object {
  return { column, ...(path === null ? {} : { path }), model, ...(region === null ? {} : { region }) };
}

function labelOf({ table, column, path }: Proposal): string {
  return `${table === null ? '' : `${table}.`}${column}${path === null ? '' : ` ${path}`}`;
}

async function findResult(places: readonly Place[], regions: readonly string[]): Promise<Result> {
  const { escapeLines } = await import('../text/escape.js');
  const { groupDigits } = await import('../text/numbers.js');
  const { renderTable } = await import('../text/table.js');
  const { wrapLines } = await import('../text/wrap.js');
  const targets = places.flatMap(targetsOf);
  const next =
    targets.length === 0
      ? 'name columns yourself: svc-migrate help apply'
      : 'paste the lines into the configuration, then svc-migrate apply plan';
  const rowOf = (proposal: Proposal) => {
    const { standing, model, seen, v3, v4 } = proposal;
    return [
      labelOf(proposal),
      standing.replace('_', ' '),
      model ?? '',
      ...[seen, v3, v4].map((count) => groupDigits(count)),
    ].map(escapeLines);
  };
  const text = (style: Style) => {
    const rows = places.flatMap(({ columns }) =>
      columns.filter(({ standing }) => style.verbose || standing !== 'none').map(rowOf),
    );
    const unseen = places.flatMap((place) =>
      place.unseen.map(({ what, why }) => `Not read: ${what}: ${why}`),
    );
    const mixed = places.flatMap(({ columns }) =>
      columns
        .filter(({ standing, region }) => standing === 'likely' && region === null && regions.length > 1)
        .map(
          (proposal) =>
            `Name the region of ${labelOf(proposal)}, "region" or "regionColumn": ${regions.join(', ')}.`,
        ),
    );
    const table = rows.length === 0 ? ['No column holds V3 ids.'] : renderTable(COLUMNS, rows, style.width);
    const lines = targets.map((target) => `${escapeLines(JSON.stringify(target))},`);
    return `${table.join('\n')}\n${wrapLines([...unseen, ...mixed].map(escapeLines), style.width)}${lines.map((line) => `${line}\n`).join('')}Next: ${next}\n`;
  };
  return { exitCode: 0, json: { action: 'find', places, apply: { targets }, exitCode: 0, next }, text };
}

const COLUMNS = [
  { title: 'column' },
  { title: 'holds V3 ids' },
  { title: 'model' },
  { title: 'values seen', numeric: true },
  { title: 'V3', numeric: true },
  { title: 'V4', numeric: true },
];
