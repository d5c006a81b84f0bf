import { expect, it } from 'vitest';
import { campaign } from '../support/campaign.js';
import { migrateSeeds } from '../support/mutating-service.js';

/** The soak takes other seeds. */
const FIRST = campaign({ small: 1, soak: 1001 });
const SEEDS = campaign({ small: 3, full: 75, soak: 3000 });

it(`a service that changes while it is paged ends, for each of ${SEEDS} seeds, in the truth of all that was stable, and no mapping is wrong`, async () => {
  const { wrong, touched, current } = await migrateSeeds(FIRST, SEEDS);
  expect(wrong).toEqual([]);
  expect(touched).toBeGreaterThan(10 * SEEDS);
  // What changes behind the last sweep of its list is the next run's; without sweeps one in ten would be.
  expect(current / touched).toBeGreaterThan(0.99);
});
