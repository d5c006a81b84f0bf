import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openRemap } from '../../src/index.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { type Exported, INVOICES } from '../support/exported.js';
import { givenOf, type OptionValues, runNamed } from '../support/given.js';
import { MIXED, newIo, withDatabase } from './support.js';

/** Two regions that use the same V3 company and record ids for different things. */
const TWO_REGIONS: Exported = {
  v3: [
    { id: 1, key: 'eu-1', region: 'eu', company: 5, facts: 'x=1' },
    { id: 1, key: 'us-1', region: 'us', company: 5, facts: 'x=2' },
    { id: 2, key: 'us-2', region: 'us', company: 5, facts: 'x=3' },
  ],
  v4: [
    { id: 10, key: 'eu-1', company: 50, facts: 'x=1' },
    { id: 20, key: 'us-1', company: 60, facts: 'x=2' },
    { id: 30, key: 'us-2', company: 60, facts: 'x=3' },
  ],
};
/** The V3 id of a line item in `MIXED`. */
const CHILD = '11';
const REGIONS = { regions: ['eu', 'us'] };

async function* chunksOf(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

interface Ask {
  readonly regions?: readonly string[];
  readonly model?: string;
  readonly ids?: readonly string[];
  readonly input?: AsyncIterable<Uint8Array>;
  readonly options?: OptionValues;
}

/** What `lookup` prints. */
function lookup(
  exported: Exported,
  { regions, model = INVOICES, ids = [], input, options = {} }: Ask,
  spoil = '',
): Promise<string> {
  return withDatabase(exported, regions === undefined ? {} : { regions }, async ({ config, write }) => {
    write((db) => db.exec(spoil));
    const io = newIo();
    const code = await runNamed(
      'lookup',
      givenOf(config, { ...options, stdin: input !== undefined }, [model, ...ids], input),
      io,
    );
    expect(code).toBe(/unknown/.test(io.stdout.text) ? 1 : 0);
    // How to say which one is meant.
    expect(io.stderr.text.includes('--region')).toBe(/several_records/.test(io.stdout.text));
    const isChild = model === INVOICES && ids.includes(CHILD);
    expect(io.stderr.text.includes(`write the model as ${INVOICES}#line_items.`)).toBe(isChild);
    return io.stdout.text;
  });
}

describe('lookup', () => {
  it('answers in the order asked, with the status of ids that have no twin', async () => {
    expect(await lookup(MIXED, { ids: ['3', '1', '4', '999'] })).toBe(
      '3\t-\tunmatched/unexplained\n1\t2\tmatched\n4\t-\tdeleted/deleted_not_in_v4\n999\t-\tunknown\n',
    );
  });

  it('keeps the ids of records and of children apart', async () => {
    expect(await lookup(MIXED, { ids: ['1', CHILD] })).toBe('1\t2\tmatched\n11\t-\tunknown\n');
    expect(await lookup(MIXED, { model: `${INVOICES}#line_items`, ids: [CHILD] })).toBe('11\t21\tmatched\n');
  });

  it('never guesses which region or company an id is of', async () => {
    expect(await lookup(TWO_REGIONS, { ...REGIONS, ids: ['1', '2'] })).toBe(
      '1\t-\tambiguous/several_records\n2\t30\tmatched\n',
    );
    expect(await lookup(TWO_REGIONS, { ...REGIONS, ids: ['1'], options: { region: 'us' } })).toBe(
      '1\t20\tmatched\n',
    );
    expect(await lookup(TWO_REGIONS, { ...REGIONS, ids: ['2'], options: { company: '6' } })).toBe(
      '2\t-\tunknown\n',
    );
  });

  it('translates V4 ids back with --reverse', async () => {
    const reverse = { reverse: true };
    expect(await lookup(MIXED, { ids: ['2', '9'], options: reverse })).toBe('2\t1\tmatched\n9\t-\tunknown\n');
    const asked = { ...REGIONS, ids: ['30'], options: { ...reverse, company: '60', json: '-' } };
    expect(JSON.parse(await lookup(TWO_REGIONS, asked))).toMatchObject({ v3_svc_id: '2', v4_svc_id: '30' });
    const elsewhere = { ...REGIONS, ids: ['30'], options: { ...reverse, company: '5' } };
    expect(await lookup(TWO_REGIONS, elsewhere)).toBe('30\t-\tunknown\n');
  });

  it('prints JSON with ids as digits', async () => {
    expect(JSON.parse(await lookup(TWO_REGIONS, { ...REGIONS, ids: ['2'], options: { json: '-' } }))).toEqual(
      {
        model: INVOICES,
        path: '',
        v3_svc_id: '2',
        v4_svc_id: '30',
        status: 'matched',
        reason: null,
        region: 'us',
        v3_company_id: '5',
        v4_company_id: '60',
        stale: false,
      },
    );
  });

  it('reads ids from input, however it is cut', async () => {
    const input = chunksOf('1\n', '', '99', '9\r\n\n  3', '\n2');
    expect(await lookup(MIXED, { input })).toBe(
      '1\t2\tmatched\n999\t-\tunknown\n3\t-\tunmatched/unexplained\n2\t-\tunmatched/unexplained\n',
    );
  });

  const noIds = ['007', '+7', '7.0', '1e3', '0x7', 'seven', '9223372036854775808', '-0', '7 8', '\u0667'];
  it.each(noIds)('refuses %s, naming its line', async (text) => {
    const asked = lookup(MIXED, { input: chunksOf(`1\n${text}\n`) });
    await expect(asked).rejects.toMatchObject({ code: 'bad_input', facts: { line: 2 } });
    await expect(lookup(MIXED, { ids: [text] })).rejects.toMatchObject({ code: 'usage' });
  });

  it('refuses a model that is not configured', async () => {
    await expect(lookup(MIXED, { model: 'x/y', ids: ['1'] })).rejects.toMatchObject({ code: 'usage' });
  });

  it('refuses an incomplete remap unless told', async () => {
    const spoil = "UPDATE stream SET state = 'running' WHERE id = 1";
    await expect(lookup(MIXED, { ids: ['1'] }, spoil)).rejects.toMatchObject({ code: 'incomplete' });
    expect(await lookup(MIXED, { ids: ['1'], options: { allowIncomplete: true } }, spoil)).toBe(
      '1\t2\tmatched\n',
    );
  });
});

describe('openRemap', () => {
  it('translates ids given as bigint, number or text', async () => {
    await withDatabase(TWO_REGIONS, REGIONS, ({ config }) => {
      const remap = openRemap(config.database);
      expect(remap.v4Id(INVOICES, 2n)).toBe(30n);
      expect(remap.v4Id(INVOICES, 2)).toBe(30n);
      expect(remap.v4Id(INVOICES, '2', { region: 'us', companyId: 5 })).toBe(30n);
      expect(remap.v4Id(INVOICES, 1)).toBeNull();
      expect(remap.find(INVOICES, 1)).toMatchObject({ status: 'ambiguous', reason: 'several_records' });
      expect(remap.v4Id(INVOICES, 1, { region: 'eu' })).toBe(10n);
      remap.close();
    });
  });

  it('refuses what is no exact id and models nobody exported', async () => {
    await withDatabase(MIXED, {}, ({ config }) => {
      const remap = openRemap(config.database);
      expect(() => remap.v4Id(INVOICES, 2 ** 53)).toThrow(TypeError);
      for (const text of ['', ' 1', '0x1', '1.0', '9223372036854775808']) {
        expect(() => remap.v4Id(INVOICES, text)).toThrow(RangeError);
      }
      expect(() => remap.v4Id('accounting/invoice', 1)).toThrow(expect.objectContaining({ code: 'usage' }));
      remap.close();
    });
  });

  const spoilt: [string, string][] = [
    ['a list is unfinished', "UPDATE stream SET state = 'failed' WHERE id = 2"],
    ['V4 was never exported', "DELETE FROM stream WHERE generation = 'v4'; DELETE FROM v4_company"],
  ];
  it.each(spoilt)('refuses to answer where %s, unless told', async (_, sql) => {
    await withDatabase(MIXED, {}, ({ config, write }) => {
      write((db) => db.exec(sql));
      expect(() => openRemap(config.database)).toThrow(expect.objectContaining({ code: 'incomplete' }));
      const remap = openRemap(config.database, { allowIncomplete: true });
      expect(remap.v4Id(INVOICES, 1)).toBe(2n);
      remap.close();
    });
  });

  it.each([false, true])('names a damaged page as such (allowIncomplete: %s)', async (allowIncomplete) => {
    await withDatabase(MIXED, {}, ({ config }) => {
      const db = new Sqlite(config.database);
      const root = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'stream'").pluck().get();
      db.close();
      const bytes = readFileSync(config.database);
      // what kind of page it is
      bytes.writeUInt8(0xff, (Number(root) - 1) * 16_384);
      writeFileSync(config.database, bytes);
      expect(() => openRemap(config.database, { allowIncomplete })).toThrow(
        expect.objectContaining({ code: 'corrupt_database', exitCode: 6 }),
      );
    });
  });

  it('knows no id where there is no remap', async () => {
    await withDatabase(MIXED, {}, ({ config, write }) => {
      write((db) =>
        db.exec(
          'DELETE FROM remap_run; DELETE FROM remap_row; DELETE FROM remap_group; DELETE FROM remap_day',
        ),
      );
      expect(() => openRemap(config.database)).toThrow(expect.objectContaining({ code: 'incomplete' }));
      const remap = openRemap(config.database, { allowIncomplete: true });
      expect(remap.find(INVOICES, 1).status).toBe('unknown');
      remap.close();
    });
  });
});
