import type { CommandSpec } from '../command.js';

export const BACKUP: CommandSpec = {
  name: 'backup',
  args: '<file>',
  says: 'copy the database, consistent and checked',
  more: 'The copy is as the database was at one moment; its structure is checked before it gets its name. Only its owner can read it. A file that is there is not replaced without --force.',
  options: [{ flags: '--force', says: 'replace the file if it is there' }],
  examples: [
    { line: 'svc-migrate backup before-cutover.db', does: 'keep what the cutover was decided on' },
    { line: 'svc-migrate backup nightly.db --force', does: 'replace the copy of the night before' },
  ],
  run: async (given, io) => {
    const { runBackup } = await import('../backup.js');
    const target = given.args[0] ?? '';
    return runBackup({ config: await given.config(), target, force: given.isSet('force') }, io);
  },
};
