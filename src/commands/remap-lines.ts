import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { closeDatabase, openDatabase } from '../store/open.js';
import { type RemapFilter, type RemapRow, readFindings, readRemapRun } from '../store/remap.js';
import { escapeJson } from '../text/escape.js';

/** Renders rows as NDJSON. Numbers in the evidence keep their digits. */
export function* renderNdjson(rows: Iterable<RemapRow>): Generator<string> {
  for (const { evidence, ...row } of rows) {
    const head = JSON.stringify(row, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    yield `${escapeJson(`${head.slice(0, -1)},"evidence":${evidence}}`)}\n`;
  }
}

/** Findings as NDJSON of the remap with this digest. @throws SvcError `incomplete` if another was built meanwhile */
export function* readFindingLines(
  config: Config,
  filter: RemapFilter,
  sha256: string | null,
): Generator<string> {
  const db = openDatabase(config.database, 'read');
  try {
    db.exec('begin');
    if ((readRemapRun(db)?.sha256 ?? null) !== sha256) {
      throw new SvcError('incomplete', 'Another remap was built in the meantime.', {
        hint: 'Run the command again.',
      });
    }
    yield* renderNdjson(readFindings(db, filter));
  } finally {
    closeDatabase(db);
  }
}
