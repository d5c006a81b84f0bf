import { describe, expect, it } from 'vitest';
import { prepareTally } from '../../src/match/build-remap.js';
import type { Db } from '../../src/store/open.js';
import { openTestDatabase } from '../store/support.js';

/** Texts that a writer of JSON could spell in more than one way. */
const HOSTILE = [
  '',
  'a\0b',
  '\u0001\b\f\n\r\t\u001f',
  '"\\/',
  '\u007f\u2028\u2029',
  'é\u0301😀\ufeff',
  '\ud7ff\ue000',
];

function fill(db: Db): void {
  const insert = db.prepare(`INSERT INTO remap VALUES ('m', ?, 'eu', ?, 1, ?, ?, ?, ?, ?, ?, NULL, ?, 0)`);
  for (const text of HOSTILE) {
    insert.run('', 2n ** 63n - 1n, text, null, -(2n ** 63n), 2n ** 53n + 1n, 'matched', null, text);
    insert.run(text, null, text, text, null, 5n, 'v4_only', 'unexplained', '{}');
  }
}

describe('the tally of a remap', () => {
  it('counts rows by outcome and side, and invalid rows', () => {
    const db = openTestDatabase();
    fill(db);
    db.exec(`
      INSERT INTO remap(model, path, status, reason, evidence) VALUES ('m', 'k', 'unmatched', 'absent', '{}');
      INSERT INTO remap(model, path, status, v3_svc_id, evidence) VALUES ('m', 'k', 'matched', 1, '{}')`);
    const tally = prepareTally(db);
    tally.add(1n, 10n);
    tally.add(11n, 100n);
    const { rows, v3, v4Only, open, counts } = tally.finish();
    expect({ rows, v3, v4Only, open }).toEqual({
      rows: 2 * HOSTILE.length + 2,
      v3: { records: HOSTILE.length, children: 1 },
      v4Only: { records: 1, children: HOSTILE.length },
      open: 2,
    });
    expect(counts).toEqual({
      matched: HOSTILE.length + 1,
      'unmatched/absent': 1,
      'v4_only/unexplained': HOSTILE.length,
    });
  });
});
