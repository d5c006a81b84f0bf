import { describe, expect, it } from 'vitest';
import type { Story } from '../../../src/inspect/explain/story.js';
import { type Db, openDatabase } from '../../../src/store/open.js';
import { MIXED, newIo, SINCE, withDatabase } from '../../report/support.js';
import { type Exported, INVOICES, modelOf, things } from '../../support/exported.js';
import { givenOf, type OptionValues, runNamed } from '../../support/given.js';
import { storePayloads } from '../../support/payloads.js';
import { allowEdits } from '../../support/remap-edits.js';

interface Asked {
  readonly id?: string;
  readonly model?: string;
  readonly options?: OptionValues;
  readonly width?: number;
  readonly spoil?: (db: Db) => void;
}

/** What `explain` prints about invoices. */
function explain(exported: Exported, asked: Asked): Promise<string> {
  const { id, model = INVOICES, options = {}, width = 200, spoil = () => {} } = asked;
  const args = id === undefined ? [model] : [model, id];
  return withDatabase(exported, { backfill: SINCE }, async ({ config, write }) => {
    write(spoil);
    const io = newIo({ width });
    const code = await runNamed('explain', givenOf(config, options, args), io);
    expect(code).toBe(/Nothing is known of it|"stories": ?\[\]/.test(io.stdout.text) ? 1 : 0);
    // Warnings come on stderr, also beside JSON.
    return options?.json === undefined ? `${io.stderr.text}${io.stdout.text}` : io.stdout.text;
  });
}

async function explainJson(exported: Exported, asked: Asked) {
  return JSON.parse(await explain(exported, { ...asked, options: { ...asked.options, json: '-' } }));
}

/** Gives a stored record its payload. */
function withPayload(generation: 'v3' | 'v4', svcId: number | bigint, body: string) {
  return (db: Db) => storePayloads(db, body, 'generation = ? AND svc_id = ?', generation, BigInt(svcId));
}

describe('explain', () => {
  it('tells the whole story of a V3 id', async () => {
    const spoil = withPayload(
      'v3',
      3,
      '{"svc_id":3,"platform_id":"c","total_amount":10.50,"paid":false,"memo":null}',
    );
    expect(await explain(MIXED, { id: '3', spoil, width: 110 })).toBe(
      `accounting/invoices 3, as of the remap of 2026-11-01 01:00 UTC
This id exists on both sides, for different things: V3 ids and V4 ids overlap. Both are shown.

Taken for a V3 svc_id: the record V3 3 of company 1 (default)
  Missing from V4, cause unknown (unmatched/unexplained): None of the known reasons applies.
  Next: Ask both APIs again with \`svc-migrate recheck\`; if it persists, name it to the operator by company,
  model and platform_id.

    field                       V3                                      V4
    svc_id                      3                                       –
    platform_id                 c                                       –
    total_amount                10.5                                    –
    paid                        false                                   –
    memo                        –                                       –

  Companies: V3 1 (default) is V4 1, paired by the keys they share; 1 of 1 shared record agrees
  V3 accounting/invoices in default: complete, read from 2026-11-01 00:00 UTC on
  V4 accounting/invoices, company 1: complete, read from 2026-11-01 00:00 UTC on

Taken for a V4 svc_id: the record V4 3 of company 1
  Missing from V3, cause unknown (v4_only/unexplained): V3 does not have it and none of the known reasons
  applies.
  Next: Ask both APIs again with \`svc-migrate recheck\`; if it persists, name it to the operator by company,
  model and platform_id.

    field                       V3                                      V4
    svc_id                      –                                       3
    svc_deleted_at              –                                       –
    svc_company_id              –                                       1
    svc_updated_at              –                                       –
    platform_id                 –                                       e
    platform_unique_id          –                                       –
    created_at                  –                                       –

  Companies: V3 1 (default) is V4 1, paired by the keys they share; 1 of 1 shared record agrees
  V3 accounting/invoices in default: complete, read from 2026-11-01 00:00 UTC on
  V4 accounting/invoices, company 1: complete, read from 2026-11-01 00:00 UTC on
`,
    );
  });

  it('tells both stories of an id that both sides use, and one where both lead to the same', async () => {
    const both = await explainJson(MIXED, { id: '2' });
    expect(both.stories).toMatchObject([
      { takenFor: ['v3'], row: { v3_svc_id: '2', status: 'unmatched' } },
      { takenFor: ['v4'], row: { v3_svc_id: '1', v4_svc_id: '2', status: 'matched' } },
    ]);
    const same = await explainJson(
      { v3: [{ id: 7, key: 'k', facts: 'x=1' }], v4: [{ id: 7, key: 'k', facts: 'x=1' }] },
      { id: '7' },
    );
    expect(same.stories).toMatchObject([{ takenFor: ['v3', 'v4'], row: { status: 'matched' } }]);
  });

  it('finds children by their ids, with what became of their parents', async () => {
    const lonely = await explain(MIXED, { id: '12' });
    expect(lonely).toMatch(
      /^Taken for a V3 svc_id: the child in line_items V3 12 of company 1 \(default\)$/m,
    );
    expect(lonely).toMatch(
      /^ {2}Parent: older than V4's history \(unmatched\/parent_outside_backfill_window\): Its parent: all its dates/m,
    );
    expect(lonely).toMatch(
      /^ {2}It is in accounting\/invoices V3 2, platform_id b: unmatched\/outside_backfill_window\.$/m,
    );
    expect(await explain(MIXED, { id: '21', model: `${INVOICES}#line_items` })).toMatch(
      /^accounting\/invoices#line_items 21, as of the remap/,
    );
    const paired = await explainJson(MIXED, { id: '21', model: `${INVOICES}#line_items` });
    expect(paired.stories).toMatchObject([
      {
        takenFor: ['v4'],
        row: { v3_svc_id: '11', status: 'matched' },
        v3: { parent_svc_id: '1' },
        v4: { parent_svc_id: '2' },
      },
    ]);
    expect(paired.stories[0].because).toEqual([
      'It is in accounting/invoices V3 1, platform_id a: matched, V4 2.',
    ]);
  });

  it('says the evidence in words', async () => {
    const outside = await explain(MIXED, { id: '2' });
    expect(outside).toContain(
      "  Its latest date (from the platform) is 2026-01-05 00:00 UTC; V4's history starts at 2026-08-20 00:00 UTC (configured).\n",
    );
    const created = await explain(
      {
        v3: [{ id: 1, key: 'a', facts: 'x=1' }],
        v4: [
          { id: 9, key: 'a', facts: 'x=1' },
          { id: 5, created: '2026-12-01T00:00:00Z' },
        ],
      },
      { id: '5' },
    );
    expect(created).toContain(
      '  The platform created it at 2026-12-01 00:00 UTC; V3 was read until 2026-11-01 00:00 UTC.\n',
    );
    const provisional = await explain(
      {
        v3: [{ id: 1, key: 'a' }],
        v4: [{ id: 9, key: 'a' }],
        states: { [`v3 default ${INVOICES}`]: 'running', [`v4 ${INVOICES} 1`]: 'short' },
      },
      { id: '1' },
    );
    expect(provisional).toMatch(/Not read in full: V3 accounting\/invoices in default \(running\)/);
    expect(provisional).toMatch(/^Warning: 1 V3 list not read to the end/m);
    expect(provisional).not.toMatch(/Not read in full: V4/);
    const other = {
      v3: [{ id: 1, key: 'a', facts: 'x=1' }],
      v4: [{ id: 9, key: 'a', company: 7, facts: 'x=2' }],
    };
    expect(await explain(other, { id: '1' })).toContain('V4 7: 0 of 1 shared record agrees\n');
    const { stories } = await explainJson(MIXED, {
      id: '4',
      spoil: (db) =>
        db.exec(`DELETE FROM record WHERE stream_id IN (SELECT id FROM stream WHERE generation = 'v4');
          DELETE FROM stream WHERE generation = 'v4'`),
    });
    expect(stories[0].lists[1]).toMatchObject({ name: `V4 ${INVOICES}, company 1`, state: null });
  });

  it('says how a pair was found where its key is not all', async () => {
    const pairs: Exported = {
      v3: things('1 a uid=u facts=x=1; 2 b uid=p; 3 b uid=q'),
      v4: things('11 a uid=w facts=x=1; 12 b uid=p; 13 b uid=q'),
    };
    const story = async (id: string, spoil = (_: Db) => {}) =>
      (await explainJson(pairs, { id, spoil })).stories[0];
    expect((await story('1')).because).toEqual([
      'The two have different platform_unique_ids; platform_id is the key, so they stay a pair.',
    ]);
    expect((await story('2')).because).toEqual([
      'Several records have this platform_id; its platform_unique_id singled out this pair.',
    ]);
    const decide = (db: Db) =>
      db.exec("UPDATE remap_group SET matched_by = 'decision' WHERE status = 'matched'");
    expect((await story('2', decide)).sentence).toBe('A person decided that the two are the same.');
  });

  it('shows a candidate that the evidence names beside the record, and says that it is one', async () => {
    const exported: Exported = {
      v3: [
        { id: 1, key: 'a', facts: 'x=1' },
        { id: 2, key: ' INV-7', uid: 'u' },
      ],
      v4: [
        { id: 5, key: 'a', facts: 'x=1' },
        { id: 6, key: 'inv-7' },
      ],
    };
    const text = await explain(exported, { id: '2' });
    expect(text).toContain(
      '  V4 records that look like its twin: 6 (platform_id inv-7, no platform_unique_id).\n',
    );
    expect(text).toMatch(/^ {4}field +V3 +V4, named above$/m);
    expect(text).toMatch(/^ {2}≠ platform_id +INV-7 +inv-7$/m);
    const reversed = await explain(exported, { id: '6' });
    expect(reversed).toContain(
      '  V3 records that look like its twin: 2 (platform_id  INV-7, platform_unique_id u).\n',
    );
  });

  it('compares fields as what they are and keeps ids exact', async () => {
    const [v3, v4] = [2n ** 63n - 1n, 2n ** 63n - 2n];
    const exported: Exported = {
      v3: [{ id: v3, key: 'k', facts: 'x=1' }],
      v4: [{ id: v4, key: 'k', facts: 'x=1' }],
    };
    const body = (id: bigint, rest: string) => `{"svc_id":${id},"platform_id":"k",${rest}}`;
    const answer = await explainJson(exported, {
      id: String(v3),
      spoil: (db) => {
        withPayload(
          'v3',
          v3,
          body(
            v3,
            '"amount":10.50,"day":"2026-01-01T00:00:00Z","memo":"a","gone":1,"big":9007199254740993,"items":[1]',
          ),
        )(db);
        withPayload(
          'v4',
          v4,
          body(
            v4,
            '"amount":"10.5","day":"2026-01-01T00:00:00.000Z","memo":"b","gone":null,"big":9007199254740992',
          ),
        )(db);
      },
    });
    const fields = Object.fromEntries(
      answer.stories[0].fields.map((line: { name: string; v3: string; v4: string; verdict: string }) => [
        line.name,
        [line.v3, line.v4, line.verdict],
      ]),
    );
    expect(fields).toEqual({
      svc_id: [String(v3), String(v4), 'own'],
      platform_id: ['k', 'k', 'same'],
      amount: ['10.5', '10.5', 'same'],
      day: ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000Z', 'same'],
      memo: ['a', 'b', 'differs'],
      gone: ['1', null, 'one_side'],
      big: ['9007199254740993', '9007199254740992', 'differs'],
    });
  });

  it('says what is known of an id that is in no row', async () => {
    expect((await explainJson(MIXED, { id: '999' })).unknown).toEqual([
      expect.stringMatching(/^Neither export holds it\./),
    ]);
    const spoiled = {
      spoil: (db: Db) => {
        db.exec(`INSERT INTO excluded SELECT id, 999, 1 FROM stream WHERE generation = 'v3';
          INSERT INTO rejected(generation, region, model, company_id, page, position, path, reason, raw, stream_id)
          VALUES ('v4', '', '${INVOICES}', 1, 1, 0, '', 'bad_company_id', '{"svc_id":999}', 2);
          UPDATE stream SET state = 'failed' WHERE generation = 'v4'`);
      },
    };
    expect((await explainJson(MIXED, { ...spoiled, id: '99' })).unknown).toEqual([
      '1 list of accounting/invoices was not read in full: it may be in that one.',
    ]);
    const left = await explainJson(MIXED, { ...spoiled, id: '999' });
    expect(left.unknown).toEqual([
      'V3 (default) has it for a company that the configuration excludes: nothing of it was stored.',
      'A V4 object of company 1 that holds this value could not be taken as a record (bad_company_id); see the table rejected.',
      '1 list of accounting/invoices was not read in full: it may be in that one.',
    ]);
    expect(left.warnings).toHaveLength(1);
    const onlyV3 = { v3: MIXED.v3, v4: [] };
    await withDatabase(onlyV3, { models: [modelOf(INVOICES, null)] }, async ({ config }) => {
      const io = newIo();
      await runNamed('explain', givenOf(config, { json: '-' }, [INVOICES, '999']), io);
      expect(JSON.parse(io.stdout.text).unknown).toEqual([
        'The configuration says that V4 has no accounting/invoices: only V3 was read.',
      ]);
    });
  });

  it('narrows to a company of the side that the id is of', async () => {
    const exported: Exported = {
      v3: [
        { id: 5, key: 'a', company: 1 },
        { id: 6, key: 'b', company: 1 },
      ],
      v4: [{ id: 5, key: 'c', company: 2 }],
    };
    const sides = async (options: OptionValues) =>
      (await explainJson(exported, { id: '5', options })).stories.map(
        ({ takenFor }: { takenFor: string[] }) => takenFor.join(),
      );
    expect(await sides({})).toEqual(['v3', 'v4']);
    expect(await sides({ company: '2' })).toEqual(['v4']);
    expect(await sides({ region: 'default' })).toEqual(['v3']);
  });

  it('spells out what a terminal would act on', async () => {
    const exported: Exported = { v3: [{ id: 1, key: '\u001b[31m\u202ekey' }], v4: [] };
    const text = await explain(exported, { id: '1' });
    expect(text).toContain('\\u001b[31m\\u202ekey');
    expect(text).not.toContain('\u001b');
    expect(await explain(exported, { id: '1', options: { json: '-' } })).not.toMatch(/[\u001b\u202e]/);
  });

  it('names the pair of companies of the region', async () => {
    const regions = ['eu', 'us'];
    const exported: Exported = {
      v3: regions.map((region, at) => ({ id: 1 + at, key: region, region, company: 5, facts: `x=${at}` })),
      v4: regions.map((key, at) => ({ id: 10 + at, key, company: 50 + at, facts: `x=${at}` })),
    };
    await withDatabase(exported, { regions }, async ({ config }) => {
      const companies = async (id: string) => {
        const io = newIo();
        await runNamed('explain', givenOf(config, { json: '-' }, [INVOICES, id]), io);
        const { company, lists } = JSON.parse(io.stdout.text).stories[0];
        return [company.v3, company.v4, lists.map(({ name }: { name: string }) => name).join(', ')];
      };
      const lists = (region: string, company: number) =>
        `V3 ${INVOICES} in ${region}, V4 ${INVOICES}, company ${company}`;
      expect(await companies('1')).toEqual(['5 (eu)', '50', lists('eu', 50)]);
      expect(await companies('2')).toEqual(['5 (us)', '51', lists('us', 51)]);
    });
  });

  it('reads each record from its own list, and a child from its own record', async () => {
    const exported: Exported = {
      v3: [
        {
          id: 5,
          key: 'a',
          region: 'eu',
          company: 5,
          kids: [{ id: 4 }, { id: 5, key: 'kid', deleted: true }],
        },
        { id: 5, key: 'b', region: 'eu', company: 6 },
        { id: 5, key: 'c', region: 'us', company: 5 },
        { id: 5, key: 'd', region: 'eu', company: 5, model: 'crm/contacts' },
      ],
      v4: [{ id: 5, key: 'e', company: 5 }],
      v3Split: [5, 6],
    };
    const overrides = { regions: ['eu', 'us'], models: [modelOf('crm/contacts', null), modelOf(INVOICES)] };
    await withDatabase(exported, overrides, async ({ config, write }) => {
      const lines = '[7, {"svc_id": 4, "memo": "no"}, {"svc_id": 5, "memo": "of the kid", "day": null}]';
      write((db) =>
        storePayloads(
          db,
          `{"svc_id": 5, "zone": "of a", "taxes": ${lines}, "line_items": ${lines}}`,
          "platform_id = 'a'",
        ),
      );
      const stories = async (model: string, options: OptionValues = {}) => {
        const io = newIo();
        await runNamed('explain', givenOf(config, { ...options, json: '-' }, [model, '5']), io);
        const told: Story[] = JSON.parse(io.stdout.text).stories;
        return told.map(({ v3, v4, lists, fields }) =>
          [
            `${(v3 ?? v4)?.platform_id} ${v3?.parent_svc_id ?? '-'} ${v3?.deleted}`,
            lists.map(({ name }) => name.replace(/^(V\d) .* in /, '$1 ')).join(' & '),
            fields.map((field) => field.v3 ?? '-').join(),
          ].join(' | '),
        );
      };
      const [a, kid, b, c, d] = [
        'a - false | V3 eu, company 5 | 5,of a',
        'kid 5 true | V3 eu, company 5 | 5,of the kid,-',
        'b - false | V3 eu, company 6 | 5,-,6,-,b,-,-',
        'c - false | V3 us, company 5 | 5,-,5,-,c,-,-',
        'd - false | V3 eu, company 5 | 5,-,5,-,d,-,-',
      ] as const;
      const lists = ['eu, company 5', 'eu, company 6', 'us, company 5', 'us, company 6'];
      const inV4 = `${lists.map((name) => `V3 ${name}`).join(' & ')} & V4 ${INVOICES}, company 5`;
      const e = `e - undefined | ${inV4} | -,-,-,-,-,-,-`;
      expect(await stories(INVOICES)).toEqual([a, kid, b, c, e]);
      expect(await stories(`${INVOICES}#line_items`)).toEqual([kid]);
      expect(await stories(INVOICES, { region: 'us' })).toEqual([c]);
      expect(await stories(INVOICES, { company: '6' })).toEqual([b]);
      expect(await stories('crm/contacts')).toEqual([d]);
    });
  });

  it('says that there are more than it shows', async () => {
    const v4 = Array.from({ length: 21 }, (_, at) => ({ id: 1, key: `k${at}`, company: at + 1 }));
    const { stories, more } = await explainJson({ v3: [], v4 }, { id: '1' });
    expect([stories.length, more]).toEqual([20, true]);
  });

  it.each([
    "DELETE FROM record WHERE platform_id = 'c'",
    "UPDATE record SET platform_id = 'z' WHERE platform_id = 'c'",
    'UPDATE company SET agreeing_keys = agreeing_keys + 1',
  ])('refuses a database after %s', async (sql) => {
    await withDatabase(MIXED, { backfill: SINCE }, async ({ config }) => {
      const db = openDatabase(config.database, 'write');
      allowEdits(db);
      db.exec(sql);
      db.close();
      const explained = runNamed('explain', givenOf(config, {}, [INVOICES, '3']), newIo());
      await expect(explained).rejects.toMatchObject({ code: 'corrupt_database' });
    });
  });

  it('refuses what is no question, and a database without a remap', async () => {
    await expect(explain(MIXED, { id: '01' })).rejects.toMatchObject({ code: 'usage' });
    await expect(explain(MIXED, { id: '1', model: 'x/y' })).rejects.toMatchObject({ code: 'usage' });
    const spoil = (db: Db) =>
      db.exec('DELETE FROM remap_run; DELETE FROM remap_row; DELETE FROM remap_group; DELETE FROM remap_day');
    await expect(explain(MIXED, { id: '1', spoil })).rejects.toMatchObject({ code: 'incomplete' });
  });
});
