import type { CommandSpec } from '../command.js';
import { APPLY, UNDO } from './apply.js';
import { BACKUP } from './backup.js';
import { EXPORT_V3, EXPORT_V4, RUN } from './export.js';
import { FINDINGS } from './findings.js';
import { HELP } from './help.js';
import { EXPLAIN, RECHECK, VERIFY } from './proof.js';
import { DEMO, SANDBOX } from './rehearse.js';
import { CHECK, DUMP, LOOKUP, PURGE, REMAP, REPORT, STATUS } from './remap.js';
import { COMPLETION, DOCTOR, INIT } from './start.js';

/** Every command, in the order of the job. */
export const COMMANDS: readonly CommandSpec[] = [
  INIT,
  DOCTOR,
  EXPORT_V3,
  EXPORT_V4,
  REMAP,
  REPORT,
  CHECK,
  RUN,
  FINDINGS,
  EXPLAIN,
  RECHECK,
  VERIFY,
  LOOKUP,
  DUMP,
  APPLY,
  UNDO,
  STATUS,
  PURGE,
  BACKUP,
  SANDBOX,
  DEMO,
  COMPLETION,
  HELP,
];
