import type { ListPage } from '../../src/domain.js';
import type { PageSource } from '../../src/export/prefetch.js';
import { createPageSupply } from '../../src/export/prefetch.js';
import { exportV3, exportV4 } from '../../src/export/run-export.js';
import { openDatabase } from '../../src/store/open.js';
import { killConfig, killService } from './kill-scene.js';

/**
 * Exports into a database and kills itself at a given page: `saving` within its transaction, `saved` after its
 * commit.
 *
 * Arguments: file, generation, place, zero-based page, `alone` for pages that are each saved before the next is asked for.
 */
const [file = '', generation = 'v3', place = 'saved', at = '0', pages = ''] = process.argv.slice(2);

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('still alive');
}

const service = killService();
let asked = 0;
let saved = 0;
const waiting: (() => void)[] = [];

const source: PageSource = {
  fetchV4Companies: service.fetchV4Companies,
  fetchPage: async (request) => {
    while (pages === 'alone' && asked > saved) {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
      });
    }
    const isHere = asked === Number(at);
    asked += 1;
    const page = await service.fetchPage(request);
    return isHere && place === 'saving' ? poisoned(page) : page;
  },
};

/** A page whose middle record kills the process while it is saved. */
function poisoned(page: ListPage): ListPage {
  const middle = String(Math.floor(page.columns.length / 2) * 2);
  const ids = new Proxy(page.columns.ids, {
    get: (target, key) => (key === middle ? die() : Reflect.get(target, key)),
  });
  return { ...page, columns: { ...page.columns, ids } };
}

const db = openDatabase(file, 'create');
const summary = await (generation === 'v3' ? exportV3 : exportV4)({
  db,
  file,
  // A divided list asks for pages of several companies at the same time.
  config: killConfig(pages === 'alone' ? [] : 'auto'),
  fingerprint: {},
  supply: createPageSupply(source, Date),
  signal: new AbortController().signal,
  clock: Date,
  onProgress: (event) => {
    if (event.kind !== 'page') return;
    if (saved === Number(at) && place === 'saved') die();
    saved += 1;
    for (const wake of waiting.splice(0)) wake();
  },
});
db.close();
process.exitCode = summary.complete ? 0 : 4;
