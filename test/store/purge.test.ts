import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { countPayloads } from '../../src/store/payloads.js';
import { purgePayloads } from '../../src/store/stream-contents.js';
import { configOf, openExported } from '../support/exported.js';
import { storedPayloads, storePayloads } from '../support/payloads.js';
import { remapOf } from '../support/remap-rows.js';
import { seal } from '../support/seal.js';

describe('purging payloads', () => {
  it('removes every byte of them from the file and leaves the remap unchanged', () => {
    const config = configOf();
    const { db, close } = openExported(config, { v3: [{ id: 1, key: 'a' }], v4: [{ id: 9, key: 'a' }] });
    // few bytes, which are stored uncompressed
    const secrets = Array.from({ length: 20 }, () => randomUUID());
    storePayloads(db, `{"memo":"${secrets.join()}"}`);
    seal(db);
    const before = remapOf(db, config);
    expect(purgePayloads(db)).toBe(2);
    expect([storedPayloads(db), countPayloads(db)]).toEqual([[], 0]);
    expect(secrets.filter((secret) => readFileSync(db.name).includes(secret))).toEqual([]);
    const compared = () => db.prepare('SELECT pairs, compared FROM drift_scope').all();
    expect(compared()).toEqual([{ pairs: 1n, compared: 0n }]);
    expect(remapOf(db, config)).toEqual(before);
    expect(compared()).toEqual([{ pairs: 1n, compared: 0n }]);
    close();
  });

  it('leaves a damaged record damaged', () => {
    const { db, close } = openExported(configOf(), { v3: [{ id: 1 }], v4: [] });
    storePayloads(db, '{}');
    seal(db);
    db.exec("UPDATE record SET platform_id = 'other'");
    expect(purgePayloads(db)).toBe(1);
    expect(() => remapOf(db, configOf())).toThrow(expect.objectContaining({ code: 'corrupt_database' }));
    close();
  });
});
