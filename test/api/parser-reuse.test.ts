import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PageParser, pageParser, pausingPageParser } from '../../src/api/envelope.js';
import { SvcError } from '../../src/errors.js';
import { recordsOf } from '../../src/json/record-columns.js';
import { campaign } from '../support/campaign.js';
import { V3, V4 } from './support/pages.js';

const RUNS = campaign({ small: 40, full: 100, soak: 5000 });

/** Names of the same length beside those that count: a key remembered from another body would pass for them. */
const member = fc
  .tuple(
    fc.constantFrom('svc_id', 'svc_ix', 'platform_id', 'platform_ix', 'status', 'line_items', 'line_itemz'),
    fc.oneof(
      fc.constantFrom('null', '"open"', '"\\u00e9"', '1.5', '{"a":[1]}'),
      fc.integer({ min: 1, max: 99 }).map(String),
      fc
        .array(fc.integer({ min: 1, max: 99 }), { maxLength: 3 })
        .map((ids) => `[${ids.map((id) => `{"svc_id":${id},"platform_id":"c${id}"}`)}]`),
    ),
  )
  .map(([name, value]) => `"${name}":${value}`);

const record = fc
  .array(member, { maxLength: 5 })
  .map((members) => `{${['"svc_id":7', '"svc_company_id":2', ...members].join(',')}}`);

const cut = fc.oneof(
  { weight: 5, arbitrary: fc.constant(1) },
  { weight: 1, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) },
);

function bodyOf(generation: 'v3' | 'v4'): fc.Arbitrary<Uint8Array> {
  const usual = Array.from({ length: 6 }, () => generation);
  return fc
    .record({
      records: fc.array(fc.oneof(record, record, fc.constantFrom('null', '{}', '{"svc_id":"x"}')), {
        maxLength: 6,
      }),
      shape: fc.constantFrom(...usual, 'v3', 'v4', 'list', 'twice'),
      next: fc.constantFrom('null', '"c"', 'null', '"c"', '7'),
      cut,
    })
    .map(({ records, shape, next, cut }) => {
      const inner = `"data":[${records}],"next":${next},"total_count":${records.length}`;
      const twice = `{"data":{${inner}},"data":[${records}],"data":{"next":null}}`;
      const texts = {
        v3: `{${inner}}`,
        v4: `{"request_id":"r","data":{${inner}}}`,
        list: `[${records}]`,
        twice,
      };
      const text = texts[shape];
      return Buffer.from(text.slice(0, Math.floor(text.length * cut)));
    });
}

function outcomeOf(parser: PageParser, bytes: Uint8Array, companyId: bigint | null): unknown {
  try {
    return contentOf(parser(bytes, companyId, 500));
  } catch (error) {
    return messageOf(error);
  }
}

function contentOf({ columns, ...page }: ReturnType<PageParser>): unknown {
  return { ...page, records: recordsOf(columns) };
}

function messageOf(error: unknown): string {
  if (error instanceof SvcError) return error.message;
  throw error;
}

describe('a parser that pauses', () => {
  it.each([V3, V4])('reads pages as one that does not, also at the same time ($generation)', async (spec) => {
    const bodies = fc.array(fc.tuple(bodyOf(spec.generation), fc.constantFrom(null, 2n, 3n)), {
      minLength: 1,
      maxLength: 4,
    });
    const seen = { records: 0, refused: 0 };
    let pauses = 0;
    const pause = async (): Promise<void> => {
      pauses += 1;
      await Promise.resolve();
    };
    await fc.assert(
      fc.asyncProperty(bodies, fc.integer({ min: 1, max: 60 }), async (pages, sliceBytes) => {
        const parser = pausingPageParser(spec, pause, { fromBytes: 0, sliceBytes });
        const outcomes = pages.map(([bytes, companyId]) =>
          parser(bytes, companyId, 500).then(contentOf, messageOf),
        );
        const expected = pages.map(([bytes, companyId]) => outcomeOf(pageParser(spec), bytes, companyId));
        expect(await Promise.all(outcomes)).toEqual(expected);
        for (const one of expected) seen[typeof one === 'string' ? 'refused' : 'records'] += 1;
      }),
      { numRuns: RUNS },
    );
    expect(Math.min(seen.records, seen.refused)).toBeGreaterThan(RUNS / 2.5);
    // of random bodies: usually five for each run
    expect(pauses).toBeGreaterThan(2 * RUNS);
  });

  it('ends with what a pause throws', async () => {
    const body = Buffer.from(`{"data":[${Array(100).fill('{"svc_id":7,"svc_company_id":2}')}],"next":null}`);
    let pauses = 0;
    const pause = async (): Promise<void> => {
      pauses += 1;
      if (pauses === 5) throw new Error('stopped');
    };
    const parser = pausingPageParser(V3, pause, { fromBytes: body.length, sliceBytes: 100 });
    await expect(parser(body, null, 500)).rejects.toThrow('stopped');
    expect(pauses).toBe(5);
    expect(await parser(body.subarray(0, -1), null, 500).catch(messageOf)).toContain('cut off');
    expect(pauses).toBe(5);
  });
});

describe('a parser that has read other pages', () => {
  it.each([V3, V4])('reads each as a new one does ($generation)', (spec) => {
    const seen = { records: 0, refused: 0 };
    const bodies = fc.array(fc.tuple(bodyOf(spec.generation), fc.constantFrom(null, 2n, 3n)), {
      minLength: 2,
      maxLength: 8,
    });
    fc.assert(
      fc.property(bodies, (pages) => {
        const used = pageParser(spec);
        for (const [bytes, companyId] of pages) {
          const expected = outcomeOf(pageParser(spec), bytes, companyId);
          expect(outcomeOf(used, bytes, companyId)).toEqual(expected);
          seen[typeof expected === 'string' ? 'refused' : 'records'] += 1;
        }
      }),
      { numRuns: RUNS },
    );
    expect(Math.min(seen.records, seen.refused)).toBeGreaterThan(RUNS / 2);
  });
});
