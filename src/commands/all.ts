import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { applyCommand } from './apply.js';
import { checkCommand } from './check.js';
import type { DefineCommand, Run } from './command.js';
import { demoCommand } from './demo.js';
import { doctorCommand } from './doctor.js';
import { dumpCommand } from './dump.js';
import { explainCommand } from './explain.js';
import { exportCommand } from './export.js';
import { findingsCommand } from './findings.js';
import { helpCommand } from './help.js';
import { initCommand } from './init.js';
import { lookupCommand } from './lookup.js';
import { remapCommand } from './remap.js';
import { reportCommand } from './report.js';
import { runCommand } from './run.js';
import { sandboxCommand } from './sandbox.js';
import { statusCommand } from './status.js';
import { verifyCommand } from './verify.js';

const GROUPS: Readonly<Record<string, readonly DefineCommand[]>> = {
  'Start:': [initCommand, doctorCommand, demoCommand, sandboxCommand],
  'Look:': [runCommand, exportCommand, remapCommand, reportCommand, checkCommand, statusCommand],
  'Decide:': [findingsCommand, explainCommand, verifyCommand],
  'Use:': [lookupCommand, dumpCommand, applyCommand, helpCommand],
};

export function buildCommands(run: Run): CommandUnknownOpts[] {
  return Object.entries(GROUPS).flatMap(([heading, commands]) =>
    commands.map((define) => define(run).helpGroup(heading)),
  );
}
