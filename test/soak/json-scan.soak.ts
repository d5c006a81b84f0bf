import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { damagedJson, jsonText } from '../api/support/json-bytes.js';
import { readByJsonParse, readByScanner } from '../api/support/reference-json.js';

const CASES = { generated: 400_000, damaged: 800_000 };

describe('the scanner reads JSON as JSON.parse does', () => {
  it('where it is whole', () => {
    let accepted = 0;
    fc.assert(
      fc.property(jsonText, (text) => {
        const bytes = Buffer.from(text);
        const reading = readByScanner(bytes);
        expect(reading).toEqual(readByJsonParse(bytes));
        if (reading.accepted) accepted += 1;
      }),
      { numRuns: CASES.generated, seed: 20261121 },
    );
    process.stdout.write(`${CASES.generated} generated texts, ${accepted} accepted\n`);
    expect(accepted).toBe(CASES.generated);
  }, 3_600_000);

  it('where it is damaged', () => {
    let accepted = 0;
    fc.assert(
      fc.property(damagedJson, (bytes) => {
        const reading = readByScanner(bytes);
        expect(reading).toEqual(readByJsonParse(bytes));
        if (reading.accepted) accepted += 1;
      }),
      { numRuns: CASES.damaged, seed: 20261122 },
    );
    process.stdout.write(
      `${CASES.damaged} damaged texts, ${accepted} accepted, ${CASES.damaged - accepted} refused\n`,
    );
    expect(accepted).toBeGreaterThan(CASES.damaged / 100);
    expect(accepted).toBeLessThan(CASES.damaged);
  }, 3_600_000);
});
