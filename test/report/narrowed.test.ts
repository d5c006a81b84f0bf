import { expect, it } from 'vitest';
import { STREAM_STATES } from '../../src/domain.js';
import { judgeDatabase } from '../../src/report/gate.js';
import type { Scope } from '../../src/store/remap.js';
import type { Db } from '../../src/store/sqlite.js';
import { configOf, INVOICES, modelOf, openExported, remapOf, rowsOf, things } from '../match/exported.js';

const ORDERS = 'payments/orders';
const CONFIG = configOf({ regions: ['eu', 'us'], models: [modelOf(INVOICES), modelOf(ORDERS)] });
const READ_AT = Date.parse('2026-11-01T00:00:00Z');

/** Region eu is V4 company 11, region us is 12; both have invoices and orders. */
const EXPORTED = {
  v3: [
    ...things('1 a region=eu facts=A; 2 b region=eu facts=B'),
    ...things('1 a region=us facts=C; 2 b region=us facts=D'),
    ...things(`5 e region=eu facts=E model=${ORDERS}; 6 f region=us facts=F model=${ORDERS}`),
  ],
  v4: [
    ...things('21 a company=11 facts=A; 22 b company=11 facts=B'),
    ...things('31 a company=12 facts=C; 32 b company=12 facts=D'),
    ...things(`25 e company=11 facts=E model=${ORDERS}; 36 f company=12 facts=F model=${ORDERS}`),
  ],
};

const SCOPES: Readonly<Record<string, Scope>> = {
  all: {},
  invoices: { models: [INVOICES] },
  orders: { models: [ORDERS] },
  'company 1': { companies: [1n] },
};

/** A narrowed check judges fewer rows. Companies and reasons still rest on every list. */
const CASES = rowsOf(`
  every list was read | nothing | all | pass
  every list was read | nothing | invoices | pass
  every list was read | nothing | company 1 | pass
  the V3 list of another model failed | v3 eu ${ORDERS} failed | invoices | V3 payments/orders in eu (failed)
  the V3 list of another model was not begun | v3 us ${ORDERS} gone | invoices | V3 payments/orders in us (not started)
  the V4 list of another model is being read | v4 ${ORDERS} 11 running | invoices
    | V4 payments/orders, company 11 (not started)
  the V4 list of another company failed | v4 ${INVOICES} 12 failed | company 1 | V4 accounting/invoices, company 12 (failed)
  the list itself failed | v3 eu ${INVOICES} failed | invoices | V3 accounting/invoices in eu (failed)
  only a list of the other model failed | v3 eu ${INVOICES} failed | orders | V3 accounting/invoices in eu (failed)
  the list of V4's companies failed | v4 companies failed | invoices | V4 core/companies (failed)`);

it.each(CASES)('where %s (%s), a check of %s: %s', (_, list = '', scopeName = '', expected = '') => {
  const [name = '', word = ''] = [list.replace(/ \S+$/, ''), list.replace(/^.* /, '')];
  const state = STREAM_STATES.find((candidate) => candidate === word);
  const states = state === undefined ? {} : { [name]: state };
  const { db, close } = openExported(CONFIG, { ...EXPORTED, states });
  try {
    if (word === 'gone') dropList(db, name);
    const rows = remapOf(db, CONFIG);
    const { outcome, blockers, gate } = judgeDatabase(db, CONFIG, SCOPES[scopeName] ?? {}, READ_AT);
    if (expected === 'pass') {
      expect([outcome, gate.limits.filter(({ pass }) => !pass)]).toEqual(['pass', []]);
      expect(rows.filter(({ evidence }) => evidence.includes('provisional'))).toEqual([]);
    } else {
      expect([outcome, blockers.map(({ text }) => text).join()]).toEqual([
        'incomplete',
        expect.stringContaining(expected),
      ]);
    }
  } finally {
    close();
  }
});

/** `v3 region model` */
function dropList(db: Db, name: string): void {
  const id = db
    .prepare("select id from stream where generation || ' ' || region || ' ' || model = ?")
    .pluck()
    .get(name);
  db.prepare('delete from record where stream_id = ?').run(id);
  db.prepare('delete from stream where id = ?').run(id);
}
