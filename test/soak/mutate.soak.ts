import { describe, expect, it } from 'vitest';
import { migrateSeeds } from '../support/mutating-service.js';

const ROUNDS = 6;
const SEEDS = 500;

describe('services that change while they are paged', () => {
  for (let first = 1001; first < 1001 + ROUNDS * SEEDS; first += SEEDS) {
    it(`end in the truth of all that was stable, seeds ${first} to ${first + SEEDS - 1}`, async () => {
      expect((await migrateSeeds(first, SEEDS)).wrong).toEqual([]);
    }, 3_600_000);
  }
});
