import { describe, expect, it } from 'vitest';
import { explainRecord } from '../../../src/inspect/explain/explain-record.js';
import { renderExplanation, renderExplanationJson } from '../../../src/inspect/explain/render-explanation.js';
import { startSandbox } from '../../../src/sandbox/start-sandbox.js';
import { EVERYTHING, type RemapRow, readRemap } from '../../../src/store/remap-rows.js';
import { campaign } from '../../support/campaign.js';
import { doWholeJob, type Job } from '../../support/whole-job.js';

const SEEDS = [1];
/** One row in so many of each outcome is explained. */
const STRIDE = campaign({ small: 48, full: 1 });

/** The stories of one row, asked for by the id of one side and all that narrows it. */
function ask({ db, config }: Job, row: RemapRow, side: 'v3' | 'v4') {
  const id = side === 'v3' ? row.v3_svc_id : row.v4_svc_id;
  const companyId = side === 'v3' ? row.v3_company_id : row.v4_company_id;
  const { model, path, region } = row;
  if (id === null) throw new Error('asked for a side that the row does not have');
  const answer = explainRecord(db, config, { model, id, path, region, companyId });
  const own = answer.stories.filter(({ takenFor }) => takenFor.includes(side));
  return { answer, own };
}

describe('explain', () => {
  it('has a story with every word for every row of the ugliest data, from either side', async () => {
    let asked = 0;
    const outcomes = new Map<string, number>();
    const lacking: string[] = [];
    for (const seed of SEEDS) {
      const sandbox = await startSandbox({ seed, scenario: 'ugly', scale: 300 });
      const job = await doWholeJob(sandbox);
      for (const row of [...readRemap(job.db, EVERYTHING)]) {
        const outcome = `${row.status}/${row.reason}`;
        const before = outcomes.get(outcome) ?? 0;
        outcomes.set(outcome, before + 1);
        if (before % STRIDE !== 0) continue;
        for (const side of ['v3', 'v4'] as const) {
          if (row[`${side}_svc_id`] === null) continue;
          asked += 1;
          const { answer, own } = ask(job, row, side);
          const told = own.find(
            (one) => one.row.v3_svc_id === row.v3_svc_id && one.row.v4_svc_id === row.v4_svc_id,
          );
          const isWhole =
            told !== undefined &&
            [told.sentence, told.next].every((text) => /^[A-Z].*\.$/.test(text)) &&
            told.because.every((text) => /[.]$/.test(text)) &&
            (row.v3_svc_id === null) === (told.v3 === null) &&
            (row.v4_svc_id === null) === (told.v4 === null) &&
            told.named.length > 0 === /svc_ids/.test(row.evidence) &&
            told.fields.length > 5 &&
            // Lines are wrapped.
            renderExplanation(answer, 100).replaceAll(/\s+/g, ' ').includes(told.sentence) &&
            JSON.parse(renderExplanationJson(answer)).stories.length === answer.stories.length;
          if (!isWhole)
            lacking.push(
              `seed ${seed} ${side} ${JSON.stringify(row, (_, v) => (typeof v === 'bigint' ? String(v) : v))}`,
            );
        }
      }
      job.close();
      await sandbox.close();
    }
    process.stdout.write(
      `explain: ${asked} ids, ${outcomes.size} outcomes, ${lacking.length} without a whole story\n`,
    );
    expect(lacking.slice(0, 5)).toEqual([]);
    expect(outcomes.size).toBeGreaterThan(30);
  });
});
