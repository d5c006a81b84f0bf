import type { Config } from '../config/config.js';
import { digestInputFiles } from '../config/config.js';
import { readExportSeq } from './meta.js';
import { readRemapRun } from './remap.js';
import type { Db } from './sqlite.js';

/** Everything a remap is built from, by name. */
export type RemapInputs = Readonly<Record<string, string>>;

const EXPORT = 'export';

/** @param files SHA-256 of the companies and decisions files, see `digestInputFiles` */
export function buildRemapInputs(db: Db, config: Config, files: RemapInputs): RemapInputs {
  const { companies, backfill, models } = config;
  const since = backfill.sinceMs === null ? 'inferred' : new Date(backfill.sinceMs).toISOString();
  return {
    [EXPORT]: String(readExportSeq(db)),
    'companies.match': typeof companies.match === 'string' ? companies.match : 'file',
    'companies.include': companies.include.join(' '),
    'companies.exclude': companies.exclude.join(' '),
    ...(backfill.days === undefined ? { 'backfill.since': since } : { 'backfill.days': `${backfill.days}` }),
    'backfill.dateFields': backfill.dateFields.join(' '),
    ...Object.fromEntries(
      models.map(({ v3, v4, children }) => [
        `models.${v3}`,
        `${v4 ?? 'not in V4'}, children ${children.join(' ')}`,
      ]),
    ),
    ...files,
  };
}

/**
 * What changed since the remap was built, in words: the exported data, settings, or the files that settings name. Empty
 * if the remap is current, and if there is none.
 */
export function readStaleness(db: Db, config: Config): string[] {
  const run = readRemapRun(db);
  if (run === null) return [];
  const now = buildRemapInputs(db, config, digestInputFiles(config));
  const names = [...new Set([...Object.keys(run.inputs), ...Object.keys(now)])];
  return names.filter((name) => run.inputs[name] !== now[name]).map(describeInput);
}

function describeInput(name: string): string {
  if (name === EXPORT) return 'the exported data';
  return name === 'decisions' || name === 'companies.match.file' ? `the file of ${name}` : name;
}
