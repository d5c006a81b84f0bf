import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { assertJudged } from '../../src/commands/cutover-steps.js';
import { OUTPUT_SCHEMAS } from '../../src/commands/output-schemas.js';
import { loadConfig } from '../../src/config/load-config.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/start.js';
import { type Cutover, readCutover, saveCutover } from '../../src/store/cutover-state.js';
import { openDatabase, takeLock } from '../../src/store/open.js';
import { type CutoverScene, makeCutoverScene } from '../support/cutover-scene.js';
import type { Ended } from './run-cli.js';

let sandbox: Sandbox;
let scene: CutoverScene;
beforeAll(async () => {
  sandbox = await startSandbox({ seed: 5, scale: 200, companies: 2 });
  scene = await makeCutoverScene(sandbox);
});
afterAll(() => sandbox.close());
beforeEach(() => {
  scene.reset();
  scene.order(0, 1, 2);
  scene.script('flip.sh', 'echo "$1 $SVC_MIGRATE_REPORT" >> flips');
});

/** A cutover whose program writes a line; in place, so that an id that is mapped twice would be wrong. */
const EXEC = ['--yes', '--in-place', '--exec', './flip.sh'];

function cutover(...args: readonly string[]): Promise<Ended> {
  return scene.run('cutover', ...args, '--quiet');
}

async function resultOf(...args: readonly string[]) {
  const { code, stdout } = await cutover(...args, '--json', '-');
  const result = OUTPUT_SCHEMAS.cutover.schema.parse(JSON.parse(stdout));
  expect(result.exitCode).toBe(code);
  return result;
}

/** What each step of this call did, such as `run keep keep`. */
const actionsOf = ({ steps }: Awaited<ReturnType<typeof resultOf>>) =>
  steps.map(({ action }) => action).join(' ');
const nextOf = ({ stdout }: Ended) => /^Next: (.*)\n$/m.exec(stdout)?.[1];

/** Changes the stored state, as another process might have left it. */
function store(change: (cutover: Cutover) => Cutover): void {
  const db = openDatabase(scene.path('svc-migrate.db'), 'write');
  const stored = readCutover(db);
  if (stored !== null) saveCutover(db, change(stored));
  db.close();
}

/** The last step that is stored becomes one that was killed. */
const killed = (name: keyof Cutover['steps']) =>
  store((cutover) => {
    const { flip: _flip, recheck: _recheck, ...before } = cutover.steps;
    const step = cutover.steps[name];
    const isLast = name === 'flip' || cutover.steps.flip === undefined;
    const kept = isLast ? before : { ...before, flip: cutover.steps.flip };
    return { ...cutover, steps: { ...kept, [name]: { ...step, state: 'running' } } } as Cutover;
  });

describe('cutover', () => {
  it('changes nothing without --yes, and shows every step and the plan of apply', async () => {
    const before = readFileSync(scene.path('svc-migrate.db'));
    const ended = await cutover('--in-place', '--exec', './flip.sh');
    expect(ended.code).toBe(0);
    expect(ended.stdout).toContain('3 ids in 3 cells: mapped');
    expect(ended.stdout.match(/^\d\/9 /gm)).toHaveLength(9);
    expect(nextOf(ended)).toBe('svc-migrate cutover --yes --exec ./flip.sh --in-place');
    expect(readFileSync(scene.path('svc-migrate.db')).equals(before)).toBe(true);
    expect([scene.flips(), scene.ids().length, existsSync(scene.path('cutover-report.json'))]).toEqual([
      [],
      3,
      false,
    ]);
    for (const line of ended.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
  });

  it('goes the whole way once, and calling it again does nothing', async () => {
    const result = await resultOf(...EXEC, '--sample', '5');
    expect([result.outcome, result.flipped, result.steps.every(({ state }) => state === 'done')]).toEqual([
      'done',
      'yes',
      true,
    ]);
    const report = scene.path('cutover-report.json');
    expect(scene.flips()).toEqual([`${report} ${report}`]);
    expect(JSON.parse(readFileSync(report, 'utf8'))).toMatchObject({ outcome: 'pass' });
    expect(scene.ids()).toEqual(scene.expected(0, 1, 2));
    const again = await cutover(...EXEC);
    expect([again.code, scene.flips().length, scene.ids()]).toEqual([0, 1, scene.expected(0, 1, 2)]);
    expect(again.stdout).toMatch(/CUT OVER: .*Nothing is left to do\.\nNext: svc-migrate check\n$/);
    const status = await scene.run('status', '--json', '-');
    expect(OUTPUT_SCHEMAS.status.schema.parse(JSON.parse(status.stdout)).cutover).toMatchObject({
      isFinished: true,
      flipped: 'yes',
    });
  });

  it('rewrites the rows that came since an earlier apply', async () => {
    expect((await scene.run('apply', '--yes', '--in-place')).code).toBe(0);
    scene.order(3, 4);
    expect((await cutover(...EXEC)).code).toBe(0);
    expect(scene.ids()).toEqual(scene.expected(0, 1, 2, 3, 4));
  });

  it('works without targets', async () => {
    scene.configure({ apply: { targets: [] } });
    const result = await resultOf('--yes', '--flag', 'v4.on');
    expect([result.outcome, actionsOf(result)]).toEqual(['done', 'run run run run skip skip skip run run']);
    expect(JSON.parse(readFileSync(scene.path('v4.on'), 'utf8'))).toMatchObject({ cutover: result.id });
  });

  it('gives the triggers of --sync the new crosswalk, and ends with the command that removes them', async () => {
    expect((await scene.run('apply', '--sync', 'on', '--yes')).code).toBe(0);
    scene.order(3);
    const ended = await cutover('--yes', '--flag', 'v4.on');
    expect([ended.code, nextOf(ended)]).toEqual([0, 'svc-migrate apply --sync off']);
    scene.order(4);
    expect(scene.newIds()).toEqual(scene.expected(0, 1, 2, 3, 4));
    expect((await scene.run('apply', '--sync', 'off', '--yes')).code).toBe(0);
    expect(nextOf(await cutover('--yes', '--flag', 'v4.on'))).toBe('svc-migrate check');
  });

  it('stops at a red gate with the command that looks at it, and goes on there once it is green', async () => {
    scene.configure({ limits: {} });
    const ended = await cutover(...EXEC);
    expect([ended.code, scene.flips(), scene.ids()]).toEqual([1, [], scene.ids()]);
    expect(ended.stdout).toMatch(/not flipped\. Stopped at step 4 of 9 \(check\),\s+exit code 1: NOT SAFE/);
    expect(ended.stdout).toMatch(/^To continue: svc-migrate cutover --yes --exec \.\/flip\.sh --in-place$/m);
    expect(nextOf(ended)).toMatch(/^svc-migrate (?!cutover)/);
    const status = await scene.run('status');
    expect(status.stdout).toMatch(
      /check failed; the application was not\s+flipped\s+Next: svc-migrate cutover\n$/,
    );
    scene.configure({});
    expect(actionsOf(await resultOf(...EXEC))).toBe('keep keep keep again run run skip run run');
    expect(scene.ids()).toEqual(scene.expected(0, 1, 2));
  });

  it('stops where apply finds ids without a V4 id', async () => {
    scene.sql(`INSERT INTO orders(stage_id) VALUES (${scene.unmatched})`);
    const ended = await cutover(...EXEC);
    expect([ended.code, scene.flips()]).toEqual([1, []]);
    expect(ended.stdout).toMatch(
      /step 5 of 9 \(apply\s+--again\),\s+exit\s+code\s+1:\s+its\s+plan\s+is\s+blocked/,
    );
    const result = await resultOf(...EXEC, '--missing', 'keep');
    expect([result.outcome, scene.ids()]).toEqual(['done', [...scene.expected(0, 1, 2), scene.unmatched]]);
    // Its record may be newer than the exports.
    expect(actionsOf(result)).toBe('again again again again again run skip run run');
  });

  it('rewrites nothing by a remap that was not judged', async () => {
    const config = loadConfig({
      env: {},
      flags: { config: scene.path('svc-migrate.config.json') },
      nowMs: 0,
    });
    const judged = (remap: string) => assertJudged(config, { remap, settings: '' });
    await expect(judged('another')).rejects.toMatchObject({ code: 'incomplete' });
    await expect(judged(scene.remap())).resolves.toBeUndefined();
  });

  it('names the way back for what it applied', async () => {
    scene.script('flip.sh', 'exit 3');
    const ended = await cutover(...EXEC);
    const [, undo = ''] = /^ {2}svc-migrate (undo \S+)$/m.exec(ended.stdout) ?? [];
    expect(ended.stdout).toContain('The way back, once the application is back on V3 ids:');
    expect((await scene.run(...undo.split(' '))).code).toBe(0);
    expect(scene.ids()).not.toEqual(scene.expected(0, 1, 2));
    // Applied again, because the user says that nothing was flipped.
    scene.script('flip.sh', 'exit 0');
    expect((await cutover(...EXEC, '--flip', 'undone')).code).toBe(0);
    expect(scene.ids()).toEqual(scene.expected(0, 1, 2));
  });
});

describe('a program that fails', () => {
  it('stops the cutover with 7, and runs again only when told so', async () => {
    scene.script('flip.sh', 'echo once >> flips; exit 3');
    const ended = await cutover(...EXEC);
    expect([ended.code, ended.stdout]).toEqual([7, expect.stringContaining('ended with exit code 3')]);
    expect(ended.stdout).toContain('NOT KNOWN WHETHER IT IS CUT OVER');
    // The application may write V4 ids now: they are never taken for V3 ids.
    scene.order(5);
    const [before, refused] = [scene.ids(), await cutover(...EXEC)];
    expect([refused.code, refused.stderr, scene.flips().length]).toEqual([
      2,
      expect.stringContaining('--flip again'),
      1,
    ]);
    scene.script('flip.sh', 'echo once >> flips');
    expect(actionsOf(await resultOf(...EXEC, '--flip', 'again'))).toBe(
      'keep keep keep keep keep keep skip again run',
    );
    expect([scene.flips().length, scene.ids()]).toEqual([2, before]);
  });

  it('that had done its work is not run again with --flip done', async () => {
    scene.script('flip.sh', 'echo once >> flips; kill -9 $$');
    expect((await cutover(...EXEC)).stdout).toContain('ended by SIGKILL');
    const result = await resultOf(...EXEC, '--flip', 'done');
    expect([result.outcome, result.flipped, scene.flips().length]).toEqual(['done', 'yes', 1]);
  });

  it('is known to have succeeded where that cannot be stored', async () => {
    scene.script('flip.sh', 'echo once >> flips; while [ ! -e closed ]; do sleep 0.02; done');
    const ending = cutover(...EXEC);
    while (scene.flips().length === 0) await sleep(10);
    const writer = openDatabase(scene.path('svc-migrate.db'), 'write');
    writeFileSync(scene.path('closed'), '');
    const ended = await ending;
    writer.close();
    expect([ended.code, ended.stdout.replace(/\s+/g, ' ')]).toEqual([
      6,
      expect.stringMatching(/the application is flipped already\. .* could not be stored/),
    ]);
    expect((await cutover(...EXEC)).code).toBe(2);
    expect((await cutover(...EXEC, '--flip', 'done')).code).toBe(0);
    expect(scene.flips()).toHaveLength(1);
  });

  it('that cannot be started has flipped nothing', async () => {
    writeFileSync(scene.path('flip.sh'), '#!/no/such/shell\n');
    const ended = await cutover(...EXEC);
    expect([ended.code, ended.stdout]).toEqual([
      6,
      expect.stringContaining('was not flipped. Stopped at step 8'),
    ]);
    scene.script('flip.sh', 'echo once >> flips');
    expect((await cutover(...EXEC)).code).toBe(0);
  });

  it('gets no word of a shell', async () => {
    scene.script('a b;touch x.sh', 'printf "%s|" "$@" >> flips');
    const report = 'report $(touch x) ; "q".json';
    expect((await cutover('--yes', '--exec', './a b;touch x.sh', '--report', report)).code).toBe(0);
    expect(scene.flips()).toEqual([`${scene.path(report)}|`]);
    expect(existsSync(scene.path('x'))).toBe(false);
  });
});

describe('what was undone by hand', () => {
  it('is not flipped to, whatever is said of the flip but that it was undone', async () => {
    scene.script('flip.sh', 'echo once >> flips; exit 3');
    await cutover(...EXEC);
    const [undo = ''] = (await resultOf('--in-place')).undo;
    expect((await scene.run(...undo.split(' ').slice(1))).code).toBe(0);
    expect((await resultOf('--in-place')).undo).toEqual([]);
    for (const word of ['again', 'done']) {
      const ended = await cutover(...EXEC, '--flip', word);
      expect([ended.code, ended.stderr, scene.flips().length]).toEqual([
        2,
        expect.stringMatching(/was undone.*--flip undone/s),
        1,
      ]);
    }
    scene.script('flip.sh', 'echo once >> flips');
    expect((await cutover(...EXEC, '--flip', 'undone')).code).toBe(0);
    expect(scene.ids()).toEqual(scene.expected(0, 1, 2));
  });

  it('is named as the way back even if apply was killed before its run was stored', async () => {
    await cutover('--yes', '--in-place');
    const { undo } = await resultOf('--in-place');
    store(({ steps: { flip: _flip, verify_targets: _verify, ...steps }, ...stored }) => ({
      ...stored,
      steps,
      runs: [],
    }));
    killed('apply');
    expect((await resultOf('--yes', '--in-place')).undo).toEqual(undo);
  });
});

describe('a flip that was killed', () => {
  it('asks what became of the program', async () => {
    await cutover(...EXEC);
    killed('flip');
    const dry = await resultOf('--exec', './flip.sh');
    expect([dry.flipped, actionsOf(dry)]).toEqual(['unknown', 'keep keep keep keep keep keep skip ask run']);
    const ended = await cutover(...EXEC);
    expect([ended.code, scene.flips().length]).toEqual([2, 1]);
    expect((await cutover(...EXEC, '--flip', 'done')).code).toBe(0);
  });

  it('finds its own flag, and refuses one of somebody else', async () => {
    const flag = ['--yes', '--flag', 'v4.on'];
    expect((await cutover(...flag)).code).toBe(0);
    const text = readFileSync(scene.path('v4.on'), 'utf8');
    killed('flip');
    expect((await cutover(...flag)).code).toBe(0);
    expect(readFileSync(scene.path('v4.on'), 'utf8')).toBe(text);
    const other = await cutover(...flag, '--restart', '--flip', 'undone');
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('exists already')]);
  });

  it('refuses a flag that is newer than the database', async () => {
    const flag = ['--yes', '--in-place', '--flag', 'v4.on'];
    expect((await cutover(...flag)).code).toBe(0);
    killed('recheck');
    store(({ steps: { flip: _flip, recheck: _recheck, ...steps }, ...stored }) => ({ ...stored, steps }));
    const ended = await cutover(...flag);
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining('exists already')]);
    expect(scene.ids()).toEqual(scene.expected(0, 1, 2));
  });

  it.each([
    ['by hand', []],
    ['by a program', ['--exec', './flip.sh']],
    ['by another flag', ['--flag', 'v4.off']],
  ])('%s is not flipped by a flag unless the user says so', async (_, way) => {
    scene.script('flip.sh', 'exit 3');
    await cutover('--yes', ...way);
    if (way.length > 0) killed('flip');
    const ended = await cutover('--yes', '--flag', 'v4.on');
    expect([ended.code, existsSync(scene.path('v4.on'))]).toEqual([2, false]);
    expect((await cutover('--yes', '--flag', 'v4.on', '--flip', 'again')).code).toBe(0);
  });

  it('by hand stops with 4, and goes on once the user says that it is done', async () => {
    const ended = await cutover('--yes');
    expect([ended.code, ended.stdout]).toEqual([4, expect.stringContaining('Flip the application now.')]);
    expect(nextOf(ended)).toBe('svc-migrate cutover --yes --flip done');
    expect((await cutover('--yes')).code).toBe(2);
    expect((await cutover('--yes', '--flip', 'done')).code).toBe(0);
  });
});

describe('after the flip', () => {
  it('a recheck that fails says that the application is flipped, and only it is repeated', async () => {
    const fragile = await startSandbox({ seed: 5, scale: 200, companies: 2 });
    const other = await makeCutoverScene(fragile);
    other.configure({ http: { attempts: 1 } });
    other.order(0, 1);
    other.script('flip.sh', 'echo once >> flips; while [ ! -e closed ]; do sleep 0.02; done');
    const ending = other.run('cutover', ...EXEC);
    while (other.flips().length === 0) await sleep(10);
    await fragile.close();
    writeFileSync(other.path('closed'), '');
    const ended = await ending;
    expect([ended.code, ended.stdout]).toEqual([
      4,
      expect.stringMatching(/^CUT OVER: the application is flipped already\. Stopped at step 9/m),
    ]);
    const again = await other.run('cutover', ...EXEC);
    expect([again.code, other.flips().length, other.ids()]).toEqual([4, 1, other.expected(0, 1)]);
  });

  it('apply --again by hand rewrites no V4 ids of the application in place', async () => {
    expect((await cutover(...EXEC)).code).toBe(0);
    scene.order(3);
    const before = scene.ids();
    for (const yes of [[], ['--yes']]) {
      const ended = await scene.run('apply', '--again', '--in-place', ...yes);
      expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining('--flip undone')]);
    }
    expect(scene.ids()).toEqual(before);
  });

  it('says that it counts as not flipped once the user says so', async () => {
    expect((await cutover(...EXEC)).code).toBe(0);
    expect((await cutover(...EXEC.slice(1), '--flip', 'undone')).stdout).toContain('NOT CUT OVER');
  });

  it('--restart is refused unless the application is back on V3 ids', async () => {
    expect((await cutover(...EXEC)).code).toBe(0);
    const ended = await cutover(...EXEC, '--restart');
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining('--flip undone')]);
    const first = await resultOf();
    const second = await resultOf(...EXEC, '--restart', '--flip', 'undone');
    expect([second.outcome, second.id === first.id, scene.flips().length]).toEqual(['done', false, 2]);
    expect(scene.ids()).toEqual(scene.expected(0, 1, 2));
  });
});

describe('what is refused before anything is done', () => {
  const WRONG: readonly (readonly [args: readonly string[], code: number, says: string])[] = [
    [['--exec', './none.sh'], 2, 'is not an executable file'],
    [['--exec', './flip.sh --now'], 2, 'without arguments'],
    [['--exec', 'svc-migrate.config.json'], 2, 'is not an executable file'],
    [['--exec', './flip.sh', '--flag', 'x'], 2, '--exec cannot be combined with --flag'],
    [['--flag', 'svc-migrate.db'], 2, 'is an input'],
    [['--flag', 'shop.db'], 2, 'is an input'],
    [['--flag', 'flip.sh'], 2, 'exists already'],
    [['--report', 'svc-migrate.db-cutover'], 2, 'is an input'],
    [['--report', 'same', '--flag', 'same'], 2, 'Two outputs'],
    [['--report', '-'], 2, 'take a file'],
    [['--report', tmpdir()], 2, 'is a folder'],
    [['--flag', tmpdir()], 2, 'is a folder'],
    [['--exec', 'flip.sh'], 2, 'such as ./flip.sh'],
    [['--report', 'none/report.json'], 2, 'no such folder'],
    [['--flag', 'none/v4.on'], 2, 'no such folder'],
    [['--flip', 'again'], 2, 'none was'],
    [['--flip', 'done'], 2, 'none was'],
    [['--flip', 'maybe'], 2, 'again, done, undone'],
    [['--sample', '0'], 2, 'at least 1'],
    [['--settle', '5m'], 2, '--settle needs --wait'],
    [['orders'], 2, 'too many arguments'],
  ];
  it.each(WRONG)('%j', async (args, code, says) => {
    for (const yes of [[], ['--yes']]) {
      const ended = await cutover(...args, ...yes);
      expect([ended.code, ended.stdout, ended.stderr]).toEqual([code, '', expect.stringContaining(says)]);
    }
    expect([scene.ids().length, existsSync(scene.path('cutover-report.json'))]).toEqual([3, false]);
  });

  it('a second cutover, also by another name of the database', async () => {
    symlinkSync('svc-migrate.db', scene.path('link.db'));
    const lock = takeLock(scene.path('svc-migrate.db-cutover'));
    for (const name of ['svc-migrate.db', 'link.db']) {
      const ended = await cutover(...EXEC, '--db', name);
      expect([ended.code, ended.stderr]).toEqual([6, expect.stringContaining('svc-migrate.db-cutover')]);
    }
    lock.close();
    expect((await cutover(...EXEC)).code).toBe(0);
  });
});
