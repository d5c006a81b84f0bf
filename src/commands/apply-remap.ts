import type { RemapIds } from '../apply/remap-ids.js';
import type { Config } from '../config/config.js';
import type { Io } from './command.js';

/** Runs work with the verified remap of the configured database. @throws SvcError `incomplete`, `corrupt_database` */
export async function withRemap<T>(
  config: Config,
  options: { readonly allowIncomplete?: true | undefined },
  work: (remap: RemapIds, gate: (io: Io) => Promise<string>) => Promise<T>,
): Promise<T> {
  const { openRemapIds } = await import('../apply/remap-ids.js');
  const { readVerifiedRemap } = await import('./database.js');
  return readVerifiedRemap(config, options, async (db) => {
    const gate = async (io: Io) => {
      const { judgeDatabase } = await import('../report/gate.js');
      return judgeDatabase(db, config, {}, io.clock.now()).outcome;
    };
    return work(openRemapIds(db, config.limits), gate);
  });
}
