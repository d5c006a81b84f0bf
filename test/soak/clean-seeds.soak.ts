import { describe, expect, it } from 'vitest';
import { judgeSeeds } from '../support/judge-seeds.js';

/** Other seeds than every run of the tests takes. */
const FIRST = 1001;
const SEEDS = 1000;

describe('a clean service is never an alarm', () => {
  it(`in ${SEEDS} seeds, compared with the truth row by row and judged by the gate`, async () => {
    const { rows, alarms, differences } = await judgeSeeds(FIRST, SEEDS, (line) =>
      process.stdout.write(line),
    );
    process.stdout.write(
      `${SEEDS} clean seeds, ${rows} rows: ${alarms.length} false alarms, ${differences.length} differences from the truth\n`,
    );
    expect({ alarms, differences }).toEqual({ alarms: [], differences: [] });
  }, 7_200_000);
});
