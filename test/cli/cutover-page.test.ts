import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { readTopic } from '../../src/docs/topics.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { openProject } from './project.js';

const MODEL = 'crm/stages';
const TARGET = { name: 'orders', kind: 'sqlite', file: 'shop.db', table: 'orders' };

/** The commands of a table of the page, and what each must say: one of the texts on a line with "or", else all. */
function commandsOf(heading: string) {
  const [section = ''] = (readTopic('cutover') ?? '').split(`# ${heading}\n`).slice(1);
  const [table = ''] = section.split(/^#/m);
  return [...table.matchAll(/^\| `svc-migrate ([^`]+)` \| (.*) \|$/gm)].map(([, line = '', says = '']) => ({
    line,
    texts: [...says.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text),
    isAny: says.includes(', or '),
  }));
}

const { cwd, run } = await openProject({ seed: 5, scale: 200, companies: 2 }, (sandbox) => ({
  ...sandbox.config(),
  models: [{ v3: MODEL, v4: 'stages' }],
  apply: { targets: [{ ...TARGET, ids: [{ column: 'stage_id', model: MODEL }] }] },
}));
beforeAll(async () => expect((await run('run', '--quiet')).code).toBe(0));

function query(file: string, sql: string): unknown[][] {
  const db = new Sqlite(join(cwd, file));
  try {
    return db.prepare<[], unknown[]>(sql).raw().all();
  } finally {
    db.close();
  }
}

function openShop(ids: readonly unknown[]): void {
  const db = new Sqlite(join(cwd, 'shop.db'));
  db.exec('CREATE TABLE orders(id INTEGER PRIMARY KEY, stage_id INTEGER)');
  for (const id of ids) db.prepare('INSERT INTO orders(stage_id) VALUES (?)').run(id);
  db.close();
}

describe('the page "help cutover"', () => {
  it('leads from the export to rewritten tables, and back', async () => {
    const isMapped = `model = '${MODEL}' AND path = '' AND status = 'matched'`;
    const pairs = query('svc-migrate.db', `SELECT v3_svc_id, v4_svc_id FROM remap WHERE ${isMapped}`);
    openShop(pairs.map(([v3]) => v3));
    const day = commandsOf('The day of the cutover');
    expect(day.map(({ line }) => line.split(' ')[0])).toEqual([
      'run',
      'verify',
      'backup',
      'apply',
      'apply',
      'apply',
      'recheck',
    ]);
    for (const { line, texts, isAny } of day) {
      const more = line.includes('--wait') ? ['--settle', '200ms'] : [];
      const { code, stdout, stderr } = await run(...line.split(' '), ...more);
      expect({ line, code, stderr: code === 0 ? '' : stderr }).toEqual({ line, code: 0, stderr: '' });
      const said = texts.filter((text) => stdout.includes(text));
      expect({ line, stdout, says: isAny ? said.length > 0 : said.length === texts.length }).toMatchObject({
        says: true,
      });
    }
    const stored = () => query('shop.db', 'SELECT * FROM orders ORDER BY id').map(([, ...ids]) => ids);
    expect(stored()).toEqual(pairs);
    expect(existsSync(join(cwd, 'before-cutover.db'))).toBe(true);

    const [list, undo] = commandsOf('The way back');
    const listed = await run(...(list?.line.split(' ') ?? []));
    const name = /\d{8}-\d{6}-[0-9a-f]{4}/.exec(listed.stdout)?.[0] ?? '';
    const undone = await run(...(undo?.line.replace('RUN', name).split(' ') ?? []));
    expect([undone.code, undone.stdout]).toEqual([0, expect.stringContaining(undo?.texts[0] ?? '')]);
    expect(stored()).toEqual(pairs.map(([v3]) => [v3]));
  });
});
