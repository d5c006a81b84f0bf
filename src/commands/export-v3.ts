import type { Io } from '../runtime/io.js';
import { type ExportCommand, runExportCommand } from './export-generation.js';

/** `export v3`: pages every V3 list into the database; resumes by itself, tops up what is finished. */
export function runExportV3(options: ExportCommand, io: Io): Promise<number> {
  return runExportCommand('v3', options, io);
}
