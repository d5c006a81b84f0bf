import { copyFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isRight } from '../../src/apply/check-columns.js';
import type { Database } from '../../src/apply/db/database.js';
import { committingDdl, Killed, Killer, mortal } from './support/dying.js';
import { CYCLE, dumpOf, id, makeFile, openScene, rowsOf } from './support/scene.js';

const SQL = `create table o(id integer primary key, item integer, other integer, unique (item, id), unique (other, id));
  insert into o values (1, 20, 40), (2, 30, 30), (3, 40, 20), (4, 60, null), (5, null, 50)`;
const IDS = [id(), id({ column: 'other' })];

type Step = 'write' | 'switch' | 'undo';
const STEPS: readonly Step[] = ['write', 'switch', 'undo'];

const ROWS: Readonly<Record<Step, unknown[][]>> = {
  write: [
    [20, 30, 40, 20],
    [30, 40, 30, 40],
    [40, 20, 20, 30],
    [60, null, null, null],
    [null, null, 50, 51],
  ],
  switch: [
    [30, 30, 20, 20],
    [40, 40, 40, 40],
    [20, 20, 30, 30],
    [null, null, null, null],
    [null, null, 51, 51],
  ],
  undo: [
    [20, 40],
    [30, 30],
    [40, 20],
    [60, null],
    [null, 50],
  ],
};

function sceneOf(file: string, wrap: (db: Database) => Database) {
  const scene = openScene({ sql: '', ids: IDS, map: CYCLE, file, wrap });
  const run: Readonly<Record<Step, () => Promise<unknown>>> = {
    write: () => scene.write(),
    switch: () => scene.switch(true),
    undo: () => scene.undo(),
  };
  return { ...scene, run };
}

function valuesOf(file: string, step: Step): unknown[][] {
  const columns = step === 'undo' ? 'item, other' : 'item, item_v4, other, other_v4';
  return rowsOf(file, `select ${columns} from o order by id`);
}

describe.each([
  ['DDL in transactions', (db: Database) => db],
  ['DDL that commits', committingDdl],
])('%s', (_, kind) => {
  it.each(STEPS)(
    'killed before any statement, %s can be run again, and everything be undone',
    async (step) => {
      const start = makeFile(SQL);
      const before = dumpOf(start);
      const plain = sceneOf(start, kind);
      for (const earlier of STEPS.slice(0, STEPS.indexOf(step))) await plain.run[earlier]();
      for (let at = 1; ; at += 1) {
        const file = `${start}-${step}-${at}`;
        copyFileSync(start, file);
        const killer = new Killer(at);
        const dying = sceneOf(file, (db) => mortal(kind(db), killer));
        const ended = await dying.run[step]().catch((error: unknown) => error);
        if (!(ended instanceof Killed)) {
          expect(at).toBeGreaterThan(10);
          break;
        }
        const again = `${file}-again`;
        copyFileSync(file, again);
        const scene = sceneOf(again, kind);
        await scene.run[step]();
        expect(valuesOf(again, step), `${step} ${at}`).toEqual(ROWS[step]);
        if (step !== 'undo')
          expect((await scene.check()).every(({ wrongCount, missing }) => wrongCount + missing === 0)).toBe(
            true,
          );
        if (step === 'switch') expect((await scene.check()).every(isRight)).toBe(true);
        await scene.undo();
        expect(dumpOf(again), `${step} ${at} undone`).toBe(before);
        await sceneOf(file, kind).undo();
        expect(dumpOf(file), `undo after ${step} ${at}`).toBe(before);
      }
    },
  );
});
