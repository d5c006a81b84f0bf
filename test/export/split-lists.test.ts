import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifyCounts } from '../../src/store/integrity.js';
import type { Db } from '../../src/store/open.js';
import { dropStream } from '../../src/store/stream-contents.js';
import { campaign } from '../support/campaign.js';
import { storedPayloads } from '../support/payloads.js';
import { config } from './config.js';
import {
  createFakeService,
  type FakeItem,
  type FakeRecord,
  type FakeService,
  httpError,
} from './fake-service.js';
import { type Bench, bench } from './support.js';

const SEVEN = 'v3 eu accounting/invoices 7';
const EIGHT = 'v3 eu accounting/invoices 8';

function invoice(svcId: number, companyId: number, updatedMs: number | null = 5): FakeRecord {
  return { svcId: BigInt(svcId), companyId: BigInt(companyId), platformId: `p${svcId}`, updatedMs };
}

function splitService(): FakeService {
  return createFakeService({
    [SEVEN]: [invoice(1, 7), invoice(2, 7), invoice(3, 7)],
    [EIGHT]: [invoice(4, 8), invoice(5, 8)],
  });
}

function splitBench(): Bench {
  return bench(config({ v3Companies: [7n, 8n] }));
}

/** Which company each record is stored under, and that every stream's counts agree with what is stored. */
function stored(db: Db): string[] {
  const miscounted = db
    .prepare(`
      SELECT s.company_id FROM stream s WHERE s.records <> s.unique_records + s.duplicates + s.rejected
        OR s.unique_records <> (SELECT count(*) FROM record r WHERE r.stream_id = s.id)`)
    .pluck()
    .all();
  expect(miscounted).toEqual([]);
  verifyCounts(db);
  expect(storedPayloads(db)).toHaveLength(Number(db.prepare('SELECT count(*) FROM record').pluck().get()));
  return db
    .prepare<[], string>(`
      SELECT format('%d of %d in %d', r.svc_id, r.company_id, s.company_id)
      FROM record r JOIN stream s ON s.id = r.stream_id ORDER BY r.svc_id, s.company_id`)
    .pluck()
    .all();
}

const UNMOVED = ['1 of 7 in 7', '3 of 7 in 7', '4 of 8 in 8', '5 of 8 in 8'];
const MOVED = ['1 of 7 in 7', '2 of 8 in 8', ...UNMOVED.slice(1)];

/** Takes a record out of its list and puts the version into the other company's. */
function move(service: FakeService, from: string, to: string, version: FakeRecord): void {
  const isOther = (item: FakeItem) => !('svcId' in item) || item.svcId !== version.svcId;
  service.lists.set(from, (service.lists.get(from) ?? []).filter(isOther));
  service.lists.get(to)?.push(version);
}

describe('a record that moves to another company, where V3 lists are split by company', () => {
  it.each([
    ['with a newer update time', 6],
    ['with the same update time', 5],
    ['without an update time', null],
  ])(
    'between the readings of the two lists, %s, is stored once, as it was read later',
    async (_, updatedMs) => {
      const b = splitBench();
      const service = splitService();
      service.onCall = ({ number }) => {
        if (number === 1) move(service, SEVEN, EIGHT, invoice(2, 8, updatedMs));
      };
      expect(await b.run(service)).toMatchObject({ complete: true });
      expect(b.look(stored)).toEqual(MOVED);
    },
  );

  it('is stored once where the list it left shows it last, in an older version', async () => {
    const b = splitBench();
    const service = createFakeService({ [SEVEN]: [invoice(1, 7)], [EIGHT]: [invoice(1, 8, 6)] });
    service.now = () => b.clock.now();
    expect((await b.run(service)).complete).toBe(true);
    expect(b.look(stored)).toEqual(['1 of 8 in 8']);
    expect(b.look((db) => db.prepare('SELECT count(*) FROM payload_block').pluck().get())).toBe(1n);
    // and the other way round: the list that is read first has the newer version
    const c = splitBench();
    const other = createFakeService({ [SEVEN]: [invoice(1, 7, 6)], [EIGHT]: [invoice(1, 8)] });
    await c.run(other);
    expect(c.look(stored)).toEqual(['1 of 7 in 7']);
  });

  it.each([
    ['a top-up', {}],
    ['a new reading', { restart: true }],
  ])('between two exports is stored once after %s', async (_, options) => {
    const b = splitBench();
    const service = splitService();
    await b.run(service);
    move(service, SEVEN, EIGHT, invoice(2, 8, b.clock.now()));
    await b.run(service, 'v3', options);
    expect(b.look(stored)).toEqual(MOVED);
    move(service, EIGHT, SEVEN, invoice(2, 7, b.clock.now()));
    await b.run(service, 'v3', options);
    expect(b.look(stored)).toEqual(['1 of 7 in 7', '2 of 7 in 7', ...UNMOVED.slice(1)]);
  });

  it('that V3 had not shown for a while is stored', async () => {
    const b = splitBench();
    const service = splitService();
    await b.run(service);
    move(service, SEVEN, '', invoice(2, 7));
    await b.run(service, 'v3', { restart: true });
    move(service, SEVEN, EIGHT, invoice(2, 8, b.clock.now()));
    await b.run(service);
    expect(b.look(stored)).toEqual(MOVED);
  });

  it('is kept by a new reading that shows an older version under the other company', async () => {
    const b = splitBench();
    const service = splitService();
    await b.run(service);
    move(service, EIGHT, SEVEN, invoice(4, 7, 1));
    await b.run(service, 'v3', { restart: true });
    expect(b.look(stored)).toContain('4 of 7 in 7');
  });

  it('leaves no trace in a stream that takes the number of a dropped one', async () => {
    const b = splitBench();
    const service = splitService();
    await b.run(service);
    b.look((db) => {
      db.exec('DELETE FROM record WHERE stream_id = 2');
      dropStream(db, 2n);
    });
    expect(b.look((db) => db.prepare('SELECT DISTINCT stream_id FROM split_record').pluck().all())).toEqual([
      1n,
    ]);
  });

  it('while an export is resumed is stored once', async () => {
    const b = splitBench();
    const service = splitService();
    service.pageSize = () => 1;
    service.fault = ({ request: { stream, cursor } }) =>
      stream.companyId === 8n && cursor !== null ? { kind: 'throw', error: httpError(500) } : null;
    expect((await b.run(service)).complete).toBe(false);
    service.fault = () => null;
    move(service, SEVEN, EIGHT, invoice(2, 8, b.clock.now()));
    expect((await b.run(service)).complete).toBe(true);
    expect(b.look(stored)).toEqual(MOVED);
  });

  it('is stored once, whenever and however often records move', async () => {
    const moves = fc.array(fc.record({ at: fc.nat(12), svcId: fc.integer({ min: 1, max: 5 }) }), {
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(moves, async (planned) => {
        const b = splitBench();
        const service = splitService();
        // one page for each list: a record that goes shifts those behind it in a list paged by place
        service.pageSize = () => 10;
        service.totalCount = () => null;
        service.now = () => b.clock.now();
        service.onCall = ({ number }) => {
          for (const { svcId } of planned.filter(({ at }) => at === number)) {
            const isHere = service.lists
              .get(SEVEN)
              ?.some((item) => 'svcId' in item && item.svcId === BigInt(svcId));
            const [from, to, company] =
              isHere === true ? ([SEVEN, EIGHT, 8] as const) : ([EIGHT, SEVEN, 7] as const);
            move(service, from, to, invoice(svcId, company, b.clock.now()));
          }
        };
        expect((await b.run(service)).complete).toBe(true);
        service.onCall = () => {};
        await b.run(service);
        const expected = [SEVEN, EIGHT].flatMap((list) =>
          (service.lists.get(list) ?? []).map((item) =>
            'svcId' in item ? `${item.svcId} of ${item.companyId} in ${item.companyId}` : '',
          ),
        );
        expect(b.look(stored)).toEqual(expected.sort());
      }),
      { numRuns: campaign({ small: 12, full: 40 }) },
    );
  });
});
