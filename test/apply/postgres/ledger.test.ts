import { beforeEach, describe, expect, it } from 'vitest';
import { only } from '../support/databases.js';
import { HOSTILE_RUNS, ledgerTables } from '../support/ledger.js';
import { IN_PLACE, INVOICES, NEW, pairs } from '../support/remap.js';
import { openScene } from '../support/scene.js';

describe.each(only('postgres'))('the ledger in $product', (engine) => {
  const { sql, look, apply, undo, tableOf, database } = openScene(
    engine,
    pairs([
      [5, 6],
      [6, 5],
    ]),
  );
  const codes = async (...args: Parameters<typeof look>) =>
    (await look(...args)).blocks.map((block) => block.split(':')[0]);
  const ids = () => sql('SELECT i FROM t ORDER BY k');
  beforeEach(async () => {
    await sql('CREATE TABLE t(k integer PRIMARY KEY, i bigint)');
    await sql('INSERT INTO t VALUES (1, 5), (2, 6)');
  });

  const OWN = ledgerTables('postgres');
  it.each([
    ...OWN.map((table) => `CREATE TABLE ${table}(unit bigint, plan_sha256 text, remap_sha256 text)`),
    ...OWN.map((table) => `CREATE VIEW ${table} AS SELECT 1 AS unit`),
  ])('is never a table of somebody else: %s', async (foreign) => {
    await sql('CREATE SCHEMA svc_migrate');
    await sql(foreign);
    expect(await codes(IN_PLACE)).toEqual(['foreign_ledger']);
    expect(await codes(NEW)).toEqual(['foreign_ledger']);
    await expect(undo()).rejects.toMatchObject({ code: 'bad_input' });
    expect(await apply(IN_PLACE, { targets: [tableOf({ ledgerSchema: 'mine' })] })).toEqual([]);
  });

  it('in another schema counts too', async () => {
    expect(await apply(IN_PLACE, { targets: [tableOf({ ledgerSchema: 'mine' })] })).toEqual([]);
    for (const policy of [IN_PLACE, { ...IN_PLACE, again: true }, NEW])
      expect(await codes(policy)).toEqual(['other_ledger']);
  });

  it('is never kept where the schema or a table belongs to another role', async () => {
    await sql("DO 'BEGIN CREATE ROLE stranger LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END'");
    await sql('CREATE SCHEMA svc_migrate AUTHORIZATION stranger');
    expect(await codes(IN_PLACE)).toEqual(['foreign_ledger']);
    await sql('ALTER SCHEMA svc_migrate OWNER TO postgres');
    expect(await apply(IN_PLACE)).toEqual([]);
    await sql(`ALTER TABLE ${OWN[0]} OWNER TO stranger`);
    expect(await codes(IN_PLACE)).toEqual(['foreign_ledger']);
    await expect(undo()).rejects.toMatchObject({ code: 'bad_input' });
    // Whoever owns the table that is rewritten may keep its ledger.
    await sql('ALTER TABLE t OWNER TO stranger');
    await undo();
    expect(await ids()).toEqual([['5'], ['6']]);
  });

  it.each(HOSTILE_RUNS)('is no SQL: %s = %s', async (column, value) => {
    for (const type of ['bigint', 'bigint UNIQUE']) {
      await sql('DROP SCHEMA IF EXISTS svc_migrate CASCADE');
      await sql('DROP TABLE t');
      await sql(`CREATE TABLE t(k integer PRIMARY KEY, i ${type})`);
      await sql('INSERT INTO t VALUES (1, 5), (2, 6)');
      expect(await apply(IN_PLACE)).toEqual([]);
      await database().ledger.editRuns({ [column]: value });
      await expect(undo()).rejects.toMatchObject({ code: 'bad_input' });
      expect(await ids()).toEqual([['6'], ['5']]);
    }
  });

  it('is taken back from where it is, whatever schema it names', async () => {
    expect(await apply(IN_PLACE)).toEqual([]);
    await database().ledger.editRuns({
      definition: `(definition::jsonb || '{"ledgerSchema": "other"}')::text`,
    });
    await undo();
    expect(await ids()).toEqual([['5'], ['6']]);
  });

  it('means the catalog by its names, whatever others made on the search path', async () => {
    // They fit the types of the catalog's columns better than its own functions do.
    for (const [name, type] of [
      ['quote_ident', 'name'],
      ['right', 'bigint, integer'],
      ['max', 'bigint'],
    ]) {
      await sql(
        `CREATE FUNCTION public.${name}(${type}) RETURNS text LANGUAGE sql AS $$ SELECT (1/0)::text $$`,
      );
    }
    await sql('ALTER TABLE t ADD UNIQUE (i)');
    expect(await apply(IN_PLACE)).toEqual([]);
    await undo();
    expect(await ids()).toEqual([['5'], ['6']]);
  });

  it('leaves triggers the names of the user', async () => {
    await sql('CREATE TABLE audit(i bigint)');
    await sql(`CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO audit VALUES (new.i); RETURN new; END $$`);
    await sql('CREATE TRIGGER t_note BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note()');
    expect(await apply(IN_PLACE)).toEqual([]);
    await undo();
    await sql('ALTER TABLE t ADD UNIQUE (i)');
    expect(await apply(IN_PLACE, { run: 'run-2' })).toEqual([]);
    await undo('run-2');
    expect(await apply(NEW, { run: 'run-3' })).toEqual([]);
    expect(await sql('SELECT k, i, i_v4 FROM t ORDER BY k')).toEqual([
      ['1', '5', '6'],
      ['2', '6', '5'],
    ]);
  });

  it('finds tables by the search path of the user', async () => {
    await sql('CREATE SCHEMA app');
    await sql('CREATE TABLE app.t(k integer PRIMARY KEY, i bigint)');
    await sql('INSERT INTO app.t VALUES (1, 5)');
    await sql(
      `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = app, public', current_database()); END $$`,
    );
    expect(await apply(IN_PLACE)).toEqual([]);
    expect(await sql('SELECT i FROM app.t UNION ALL SELECT i FROM public.t')).toEqual([['6'], ['5'], ['6']]);
    const other = tableOf({ table: 'public.t', ids: [{ column: 'i', model: INVOICES }] });
    expect(await apply(IN_PLACE, { targets: [other], run: 'run-2' })).toEqual([]);
    expect(await sql('SELECT i FROM public.t ORDER BY k')).toEqual([['6'], ['5']]);
  });

  it.each(['T', 'App.T'])('finds %s by its name as it is written first', async (name) => {
    await sql('CREATE SCHEMA "App"; CREATE SCHEMA app');
    await sql(
      `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = app, public', current_database()); END $$`,
    );
    const tables = ['app.t', 'public."T"', '"App"."T"'];
    for (const table of tables) {
      await sql(`CREATE TABLE ${table}(k integer PRIMARY KEY, i bigint)`);
      await sql(`INSERT INTO ${table} VALUES (1, 5)`);
    }
    expect(await apply(IN_PLACE, { targets: [tableOf({ table: name })] })).toEqual([]);
    const rows = await sql(tables.map((table) => `SELECT i FROM ${table}`).join(' UNION ALL '));
    expect(rows.flat()).toEqual(name === 'T' ? ['5', '6', '5'] : ['5', '5', '6']);
  });
});
