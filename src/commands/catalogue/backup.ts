import type { CommandSpec } from '../command.js';

export const BACKUP: CommandSpec = {
  name: 'backup',
  args: '<file>',
  says: 'make a consistent copy of the database',
  more: 'Copies the state of one moment and checks the copy before it gets its name. While another command writes the database, it ends with 6 and names that command. Only its owner can read it. An existing file is replaced only with --force.',
  options: [{ flags: '--force', says: 'replace an existing file' }],
  examples: [
    { line: 'svc-migrate backup before-cutover.db', does: 'keep what the cutover was decided on' },
    { line: 'svc-migrate backup nightly.db --force', does: "replace last night's copy" },
  ],
  run: async (given, io) => {
    const { runBackup } = await import('../backup.js');
    const target = given.args[0] ?? '';
    return runBackup({ config: await given.config(), target, force: given.isSet('force') }, io);
  },
};
