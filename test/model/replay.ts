import { SvcError } from '../../src/errors.js';
import { begin } from '../../src/export/decide-page.js';
import { createSaver, prepareApply } from '../../src/export/saver.js';
import { type Db, openEmptyDatabase } from '../../src/store/open.js';
import { ensureStreams, listStreams, type StreamRow } from '../../src/store/streams.js';
import { columnsOf } from '../support/columns-of.js';
import type { Action, Flight, ModelRecord, State, Variant } from './export-model.js';

const EPOCH = new Date(0).toISOString();

/** A database with one stream that was never read. */
export function openModelDatabase(variant: Variant): Db {
  const db = openEmptyDatabase();
  resetStream(db, variant);
  return db;
}

function resetStream(db: Db, { rules }: Variant): void {
  db.exec('DELETE FROM stream; DELETE FROM record; DELETE FROM cursor_seen; DELETE FROM meta');
  const generation = rules.sweeps ? 'v3' : 'v4';
  const key = { generation, region: '', model: 'a/b', companyId: rules.sweeps ? null : 1n } as const;
  ensureStreams(db, [{ key, route: 'b' }], EPOCH);
}

export function readRow(db: Db): StreamRow {
  const [row] = listStreams(db);
  if (row === undefined) throw new Error('There is no stream.');
  return row;
}

/** What the real store holds after the same actions; after each the row is read back, as after a crash. */
export async function replay(
  db: Db,
  variant: Variant,
  actions: readonly Action[],
): Promise<Pick<State, 'row' | 'stored'>> {
  resetStream(db, variant);
  let nowMs = 0;
  const saver = createSaver({
    db,
    file: '',
    payload: 'ids',
    excluded: [],
    rules: variant.rules,
    clock: { now: () => nowMs },
  });
  for (const action of actions) {
    if (action.kind === 'crash') continue;
    nowMs = action.nowMs;
    const row = readRow(db);
    if (action.kind === 'begin') {
      prepareApply(db)(row, begin(row, false, variant.rules, nowMs), false);
    } else if (action.kind === 'drop') {
      for (let from: bigint | null = null; ; ) {
        const { step, next } = await saver.dropChunk(row, from);
        if (step !== null) break;
        from = next;
      }
    } else {
      let page: ReturnType<typeof askedPage> | null = askedPage(action.flight, variant);
      saver.flushSoon();
      await saver.savePages(row, () => {
        const taken = page;
        page = null;
        return taken;
      });
    }
  }
  return { row: readRow(db), stored: readStored(db) };
}

function askedPage({ askedMs, answer }: Flight, { dates }: Variant) {
  if ('code' in answer) {
    const facts = answer.status === null ? {} : { status: answer.status };
    return { askedMs, answer: new SvcError(answer.code, 'It broke.', { facts }) };
  }
  const { records, next, totalCount, servedMs } = answer;
  const columns = columnsOf(records.map((record) => parsed(record, dates)));
  return { askedMs, answer: { columns, rejected: [], next, totalCount, servedMs } };
}

function parsed({ id, version }: ModelRecord, dates: Variant['dates']) {
  return {
    svcId: BigInt(id),
    companyId: 1n,
    platformId: `version ${version}`,
    platformUniqueId: null,
    deleted: false,
    updatedMs: dates === 'none' ? null : version,
    latestMs: null,
    latestFrom: null,
    createdMs: null,
    children: null,
    members: null,
    raw: new Uint8Array(),
  };
}

function readStored(db: Db): State['stored'] {
  const rows = db
    .prepare<[], { id: bigint; version: string; walk: bigint }>(
      'SELECT svc_id AS id, substr(platform_id, 9) AS version, walk FROM record ORDER BY svc_id',
    )
    .all();
  return new Map(
    rows.map(({ id, version, walk }) => [Number(id), { version: Number(version), walk: Number(walk) }]),
  );
}
