import { type ExportCommand, runExportCommand } from './export-generation.js';
import type { Io } from './io.js';

/** `export v4`: pages every V4 list into the database, anew or from where an unfinished reading stands. */
export function runExportV4(options: ExportCommand, io: Io): Promise<number> {
  return runExportCommand('v4', options, io);
}
