import { type ExportCommand, runExportCommand } from './export-generation.js';
import type { Io } from './io.js';

/** `export v3`: pages every V3 list into the database; resumes by itself, tops up what is finished. */
export function runExportV3(options: ExportCommand, io: Io): Promise<number> {
  return runExportCommand('v3', options, io);
}
