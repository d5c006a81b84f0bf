import type { CommandSpec } from '../command.js';
import { APPLY_COMMANDS } from './apply.js';
import { MIGRATION_COMMANDS } from './migration.js';
import { RECORD_COMMANDS } from './records.js';
import { TOOL_COMMANDS } from './tools.js';

/** Every command, in the order of a migration. */
export const COMMANDS: readonly CommandSpec[] = [
  ...MIGRATION_COMMANDS,
  ...RECORD_COMMANDS,
  ...APPLY_COMMANDS,
  ...TOOL_COMMANDS,
];
