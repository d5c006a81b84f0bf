import { describe, expect, it } from 'vitest';
import { renderFullSync } from '../../src/report/renderers.js';
import type { WrittenReport } from '../../src/report/report-schema.js';
import { HOSTILE_TEXT, makeReport } from './sample-report.js';

const SAMPLE = makeReport({ models: 2, companies: 2 });
const join = (chunks: Iterable<string>) => [...chunks].join('');

function withRow(row: Partial<WrittenReport['fullSync'][number]>): WrittenReport {
  const [first, ...others] = SAMPLE.fullSync;
  return { ...SAMPLE, fullSync: first === undefined ? [] : [{ ...first, ...row }, ...others] };
}

describe('the request for a full sync', () => {
  it('is a letter in Markdown', () => {
    expect(join(renderFullSync(SAMPLE))).toBe(`# Full sync request

81 records of 2 companies are older than V4's history, which begins at 2026-08-20T00:00:00.000Z, so V4 did not load them. Please run a full sync for:

| V3 company | Region | V4 company | Model | Records | Children | From | To | V4 request_id |
| --- | --- | --- | --- | ---: | ---: | --- | --- | --- |
| 1000 | eu | 5000 | accounting/model_01 | 40 | 3 | 2024-02-01 | 2026-08-01 | req_0 |
| 1001 | eu | 5001 | accounting/model_02 | 41 | 3 | 2024-02-01 | 2026-08-01 | req_1 |
`);
  });

  it('leaves what is not known empty', () => {
    const report = withRow({ v4CompanyId: null, earliest: null, latest: null, requestId: null });
    expect(join(renderFullSync(report))).toContain(
      '| 1000 | eu | – | accounting/model_01 | 40 | 3 | – | – | – |\n',
    );
  });

  it('says so where there is nothing to ask for, and where not everything was read', () => {
    const none = { ...SAMPLE, fullSync: [], outcome: 'incomplete' as const };
    expect(join(renderFullSync(none))).toBe(
      "# Full sync request\n\nThere is nothing to ask for: no record is older than V4's history.\n\nThe lists were not all read to their end: there may be more.\n",
    );
  });

  it('lets no text act: not as Markdown', () => {
    const letter = join(renderFullSync(withRow({ region: HOSTILE_TEXT })));
    expect(letter.split('\n')).toHaveLength(9);
    expect(letter).not.toMatch(/<img|\u001b|\u202e/);
  });
});
