import { Command } from '@commander-js/extra-typings';
import type { DefineCommand } from './command.js';

export const doctorCommand: DefineCommand = (run) =>
  new Command('doctor')
    .summary('check what a migration needs, and print what to fix')
    .description(
      'Checks the configuration, the keys, both APIs, the V4 model names (similar names are tried), the largest page of each API, how V4 lists companies, deleted records, clocks and disk. Writes nothing; prints settings to paste. Exits with 2 (configuration), 3 (key), 4 (network), 5 (V4 not ready) or 6 (this machine) if something is in the way.',
    )
    .option('--json <file>', 'write the result as JSON (- is stdout)')
    .addHelpText('after', '\nExample:\n  svc-migrate doctor')
    .action((_options, command) =>
      run(command, ['json'], async (io) => {
        const { diagnose } = await import('../inspect/doctor.js');
        const { renderDiagnosis } = await import('../inspect/finding.js');
        io.onProgress({ kind: 'stage', name: 'doctor' });
        const diagnosis = await diagnose(io);
        return {
          exitCode: diagnosis.exitCode,
          json: diagnosis,
          text: (style) => renderDiagnosis(diagnosis, style.width),
        };
      }),
    );
