import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { purgePayloads } from '../../src/store/stream-contents.js';
import { configOf, openExported } from '../support/exported.js';
import { remapOf } from '../support/remap-rows.js';
import { seal } from '../support/seal.js';

describe('purging payloads', () => {
  it('removes every byte of them from the file and leaves the remap unchanged', () => {
    const config = configOf();
    const { db, close } = openExported(config, { v3: [{ id: 1, key: 'a' }], v4: [{ id: 9, key: 'a' }] });
    const insert = db.prepare('INSERT INTO payload(record_id, body) SELECT id, ? FROM record');
    insert.run(Buffer.from(`{"memo":"${'very secret '.repeat(2000)}"}`));
    seal(db);
    const before = remapOf(db, config);
    expect(purgePayloads(db)).toBe(2);
    expect(db.prepare('SELECT count(*) FROM payload').pluck().get()).toBe(0n);
    expect(readFileSync(db.name).includes('very secret')).toBe(false);
    expect(remapOf(db, config)).toEqual(before);
    close();
  });
});
