import { Command } from '@commander-js/extra-typings';
import type { DefineCommand } from './command.js';
import { idOption, placeOf } from './options.js';

export const explainCommand: DefineCommand = (run) =>
  new Command('explain')
    .summary('everything known about one record')
    .description(
      'Shows the row of a record or child in the remap, its evidence, both stored records beside each other, and the lists it came from. Takes a V3 or V4 id. No network. Exits with 1 if nothing is known.',
    )
    .argument('<model>', 'V3 path of the model; for children accounting/invoices#line_items')
    .argument('<id>', 'V3 or V4 id', idOption)
    .option('--region <name>', 'V3 region of the id, if several have it')
    .option('--company <id>', 'V3 or V4 company of the id', idOption)
    .option('--json <file>', 'write the result as JSON (- is stdout)')
    .addHelpText('after', '\nExample:\n  svc-migrate explain accounting/invoices 1001')
    .action((name, id, options, command) =>
      run(command, ['json'], async (io) => {
        const config = await io.config();
        const place = placeOf(name, options, config);
        const { explainRecord, renderExplanation } = await import('../inspect/explain.js');
        const { readDatabase } = await import('./database.js');
        const explanation = await readDatabase(config, (db) => explainRecord(db, config, { ...place, id }));
        for (const text of explanation.warnings) io.onProgress({ kind: 'note', level: 'warning', text });
        return {
          exitCode: explanation.entries.length === 0 ? 1 : 0,
          json: explanation,
          text: (style) => renderExplanation(explanation, style.width),
        };
      }),
    );
