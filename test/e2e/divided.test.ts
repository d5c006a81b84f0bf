import { expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/start-sandbox.js';
import { campaign } from '../support/campaign.js';
import { compareWithTruth } from '../support/compare-truth.js';
import { doWholeJob } from '../support/whole-job.js';

const SEEDS = campaign({ small: 2, full: 6, soak: 40 });
const ROWS = `SELECT model, path, region, v3_company_id, v4_company_id, platform_id, parent_platform_id, v3_svc_id,
  v4_svc_id, status, reason, matched_by, json_remove(evidence, '$.v3_read_until') AS evidence FROM remap ORDER BY 1, 2, 3, 4, 6, 7, 8, 9`;

it('lists that are read company by company give the remap of lists that are read as one', async () => {
  let divided = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const sandbox = await startSandbox({ seed, scenario: seed % 2 === 0 ? 'ugly' : 'clean', scale: 400 });
    const rows: unknown[] = [];
    for (const companies of ['auto', []] as const) {
      const job = await doWholeJob(sandbox, (config) => ({
        ...config,
        v3: {
          ...config.v3,
          companies,
          regions: config.v3.regions.map((region) => ({ ...region, pageSize: 5 })),
        },
      }));
      try {
        rows.push(job.db.prepare(ROWS).all());
        expect(compareWithTruth(job.db, sandbox.truth()).differences).toEqual([]);
        const read = "SELECT count(*) FROM stream WHERE read_by = 'companies'";
        const count = Number(job.db.prepare(read).pluck().get());
        if (companies === 'auto') divided += count;
        else expect(count).toBe(0);
      } finally {
        job.close();
      }
    }
    expect(rows[0]).toEqual(rows[1]);
    await sandbox.close();
  }
  process.stdout.write(`${SEEDS} seeds, ${divided} lists read company by company\n`);
  expect(divided).toBeGreaterThan(SEEDS);
});
