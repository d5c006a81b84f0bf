import { describe, expect, it } from 'vitest';
import { SvcError } from '../../../src/errors.js';
import { waitSettled } from '../../../src/inspect/settle/wait-settled.js';
import { columnsOf } from '../../support/columns-of.js';
import { configOf, modelOf } from '../../support/exported.js';

/** A backfill that adds ten records a minute until it is full; time passes only while the wait sleeps. */
function watchBackfill(given: { full: number; timeoutMs: number; counts?: 'none'; status?: number }) {
  let nowMs = 0;
  const page = { columns: columnsOf([]), rejected: [], next: null, servedMs: null };
  return waitSettled({
    config: configOf({ models: [modelOf('crm/stages'), modelOf('crm/companies', null)] }),
    source: {
      fetchV4Companies: async () => ({
        companies: [{ companyId: 1n, raw: new Uint8Array() }],
        reading: null,
      }),
      fetchPage: async () => {
        const { status, counts, full } = given;
        if (status !== undefined) throw new SvcError('http_status', 'It failed.', { facts: { status } });
        return { ...page, totalCount: counts === 'none' ? null : Math.min(full, Math.floor(nowMs / 6000)) };
      },
    },
    settleMs: 300_000,
    timeoutMs: given.timeoutMs,
    clock: { now: () => nowMs },
    sleep: async (ms) => {
      nowMs += ms;
    },
    takeEvents: () => [],
    onProgress: () => {},
  });
}

describe('waiting for the backfill', () => {
  it('ends once the counts have been still for the settling time', async () => {
    const { records, waitedMs } = await watchBackfill({ full: 100, timeoutMs: 7_200_000 });
    expect(records).toBe(100);
    expect(waitedMs).toBeGreaterThanOrEqual(600_000 + 300_000);
  });

  it('gives up after the timeout with exit code 5', async () => {
    const error: unknown = await watchBackfill({ full: 1e9, timeoutMs: 600_000 }).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(SvcError);
    expect(error).toMatchObject({ code: 'not_settled', exitCode: 5 });
  });

  it('takes a list for absent if V4 answers 404, and for nothing after another error', async () => {
    const { records, counts } = await watchBackfill({ full: 0, timeoutMs: 600_000, status: 404 });
    expect([records, [...counts]]).toEqual([0, [['crm/stages of company 1', null]]]);
    const failed = watchBackfill({ full: 0, timeoutMs: 600_000, status: 500 });
    await expect(failed).rejects.toMatchObject({ code: 'http_status' });
  });

  it('does not take a list without counts for a settled one', async () => {
    await expect(watchBackfill({ full: 1, timeoutMs: 600_000, counts: 'none' })).rejects.toMatchObject({
      code: 'not_settled',
    });
  });
});
