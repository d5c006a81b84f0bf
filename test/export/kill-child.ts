import type { ListPage } from '../../src/domain.js';
import { runExport } from '../../src/export/run-export.js';
import { closeDatabase, openDatabase } from '../../src/store/open.js';
import { killConfig, killService } from './kill-scene.js';

/**
 * Exports into a database and kills itself at a given page: `saving` within its transaction, `saved` after its commit.
 *
 * Arguments: file, generation, place, zero-based page.
 */
const [file = '', generation = 'v3', place = 'saved', at = '0'] = process.argv.slice(2);

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('still alive');
}

/** A page whose middle record kills the process while it is saved. */
function poisoned(page: ListPage): ListPage {
  const middle = page.records[Math.floor(page.records.length / 2)];
  if (middle === undefined) return page;
  const poison = new Proxy(middle, {
    get: (target, name) => (name === 'platformId' ? die() : Reflect.get(target, name)),
  });
  return { ...page, records: page.records.map((record) => (record === middle ? poison : record)) };
}

const service = killService();
let asked = 0;
let saved = 0;
const db = openDatabase(file, 'create');
const exported = await runExport({
  db,
  config: { ...killConfig(), database: file },
  generations: [generation === 'v3' ? 'v3' : 'v4'],
  api: {
    fetchPage: async (request) => {
      const isHere = asked === Number(at);
      asked += 1;
      const page = await service.fetchPage(request);
      return isHere && place === 'saving' ? poisoned(page) : page;
    },
  },
  signal: new AbortController().signal,
  clock: Date,
  onProgress: (event) => {
    if (event.kind !== 'page') return;
    if (saved === Number(at) && place === 'saved') die();
    saved += 1;
  },
});
closeDatabase(db);
process.exitCode = exported.every(({ error }) => error === null) ? 0 : 4;
