import { describe, expect, it } from 'vitest';
import { committingDdl } from '../apply/support/dying.js';
import { execute, id, makeFile, openScene, rowsOf } from '../apply/support/scene.js';
import { campaignSize } from '../support/campaign.js';
import {
  type Action,
  act,
  explore,
  type Fault,
  findWrong,
  type Ids,
  type Path,
  STEPS,
  type World,
} from './apply-model.js';

/** Two records whose ids swap. */
const IDS: Ids = [
  [1, 2],
  [2, 1],
];

const START: World = {
  rows: [
    { record: 0, c: 1, v3: null, v4: null, isStray: false },
    { record: 1, c: 2, v3: null, v4: null, isStray: false },
  ],
  state: 'none',
  hasV4: false,
  hasV3: false,
  crosswalk: null,
};

const SIZE = { depth: campaignSize({ small: 6, full: 8, soak: 9 }), mostRows: 3 };

describe('the model of apply', () => {
  const paths = explore(START, IDS, SIZE);

  it('never has a wrong id in any of its worlds', () => {
    expect(paths.length).toBeGreaterThan(500);
    expect(paths.find(({ world }) => findWrong(world, IDS) !== undefined)?.actions).toBeUndefined();
  });

  it('can always be brought back to where nothing of ours is left', () => {
    const undo: Action = { kind: 'undo', steps: STEPS.undo };
    const stuck = paths.filter(
      ({ world }) => world.state !== 'none' && act(world, undo, IDS)?.state !== 'none',
    );
    expect(stuck).toEqual([]);
  });

  it.each<Fault>(['write after switch', 'switch what came since', 'switch twice', 'switch back twice'])(
    'turns red without the guard: %s',
    (fault) => {
      const broken = explore(START, IDS, { ...SIZE, fault });
      expect(broken.some(({ world }) => findWrong(world, IDS) !== undefined)).toBe(true);
    },
  );
});

/** Runs a command to its end, as a database does where DDL commits. */
async function runOn(file: string, kind: 'write' | 'switch' | 'undo'): Promise<void> {
  const map = Object.fromEntries(IDS);
  await openScene({ sql: '', file, ids: [id()], map, wrap: committingDdl })[kind]();
}

/** Whether a path runs commands to their end only. */
function isUninterrupted({ actions }: Path): boolean {
  return actions.every((action) => !('steps' in action) || action.steps === STEPS[action.kind]);
}

describe('apply itself', () => {
  const wanted = explore(START, IDS, { ...SIZE, depth: 5 }).filter(
    (path) => isUninterrupted(path) && path.actions.length >= 4,
  );
  const most = campaignSize({ small: 30, full: 600, soak: 3000 });
  const sample = wanted.filter((_, at) => at % Math.max(1, Math.floor(wanted.length / most)) === 0);

  it(`does what the model does on ${sample.length} paths`, async () => {
    for (const path of sample) {
      const file = makeFile(
        'create table o(id integer primary key, item integer); insert into o values (1, 1), (2, 2)',
      );
      let world = START;
      for (const [at, action] of path.actions.entries()) {
        const isV4 = world.state === 'switched';
        const c = (record: number) => IDS[record]?.[isV4 ? 1 : 0];
        if (action.kind === 'insert') execute(file, `insert into o(item) values (${c(action.record)})`);
        else if (action.kind === 'change')
          execute(file, `update o set item = ${c(action.record)} where id = ${action.row + 1}`);
        else await runOn(file, action.kind);
        world = replay(path.actions.slice(0, at + 1));
      }
      expect(rowsOf(file, 'select item from o order by id').flat(), JSON.stringify(path.actions)).toEqual(
        world.rows.map(({ c }) => c),
      );
    }
  });
});

function replay(actions: readonly Action[]): World {
  return actions.reduce<World>((world, action) => {
    const next = act(world, action, IDS);
    if (next === null) throw new Error(`refused: ${JSON.stringify(action)}`);
    return next;
  }, START);
}
