import type { Db } from '../../../src/store/open.js';

/** One way to spoil the remap; returns false where that would change nothing. */
export type Corruption = (db: Db, random: () => number) => boolean;

interface Pair {
  readonly row: bigint;
  readonly model: string;
  readonly path: string;
  readonly company: bigint;
  readonly v3: bigint;
  readonly v4: bigint;
  readonly v4Company: bigint;
  readonly key: string;
}

function pairsOf(db: Db): Pair[] {
  return db
    .prepare<[], Pair>(
      `SELECT id AS row, model, path, v3_company_id AS company, v3_svc_id AS v3, v4_svc_id AS v4,
         v4_company_id AS v4Company, platform_id AS key
       FROM remap_entry WHERE v3_svc_id IS NOT NULL AND v4_svc_id IS NOT NULL ORDER BY id`,
    )
    .all();
}

function pick<T>(items: readonly T[], random: () => number): T {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new RangeError('There is nothing to pick from.');
  return item;
}

/** Another pair: of the same key, the same company, the same model or any, the likeliest mistakes first. */
function pickOther(one: Pair, pairs: readonly Pair[], random: () => number): Pair | null {
  const others = pairs.filter(({ row, v4, path }) => row !== one.row && v4 !== one.v4 && path === one.path);
  const sameModel = others.filter(({ model }) => model === one.model);
  const groups = [
    sameModel.filter(({ key }) => key === one.key),
    sameModel.filter(({ company }) => company === one.company),
    sameModel,
    others,
  ].filter((group) => group.length > 0);
  return groups.length === 0 ? null : pick(pick(groups, random), random);
}

const setV4 = (db: Db, row: bigint, v4: bigint) =>
  db.prepare('UPDATE remap_entry SET v4_svc_id = ? WHERE id = ?').run(v4, row);

const swapIds: Corruption = (db, random) => {
  const pairs = pairsOf(db);
  const one = pick(pairs, random);
  const other = pickOther(one, pairs, random);
  if (other === null) return false;
  setV4(db, one.row, other.v4);
  setV4(db, other.row, one.v4);
  return true;
};

/** With the company, so that each half of the row is plausible by itself. */
const swapPlaces: Corruption = (db, random) => {
  const pairs = pairsOf(db);
  const one = pick(pairs, random);
  const other = pickOther(one, pairs, random);
  if (other === null) return false;
  const set = db.prepare('UPDATE remap_entry SET v4_svc_id = ?, v4_company_id = ? WHERE id = ?');
  set.run(other.v4, other.v4Company, one.row);
  set.run(one.v4, one.v4Company, other.row);
  return true;
};

const swapV3: Corruption = (db, random) => {
  const pairs = pairsOf(db);
  const one = pick(pairs, random);
  const other = pickOther(one, pairs, random);
  if (other === null || other.v3 === one.v3) return false;
  const set = db.prepare('UPDATE remap_entry SET v3_svc_id = ? WHERE id = ?');
  set.run(other.v3, one.row);
  set.run(one.v3, other.row);
  return true;
};

/** To the id of the next V4 object of the same model, mapped or not. */
const shiftToNext: Corruption = (db, random) => {
  const one = pick(pairsOf(db), random);
  const next = db
    .prepare<(string | bigint)[], bigint | null>(
      'SELECT min(v4_svc_id) FROM remap WHERE model = ? AND path = ? AND v4_company_id = ? AND v4_svc_id > ?',
    )
    .pluck()
    .get(one.model, one.path, one.v4Company, one.v4);
  if (next === null || next === undefined) return false;
  setV4(db, one.row, next);
  return true;
};

const shiftByOne: Corruption = (db, random) => {
  const one = pick(pairsOf(db), random);
  setV4(db, one.row, one.v4 + 1n);
  return true;
};

const shiftV3ByOne: Corruption = (db, random) => {
  const one = pick(pairsOf(db), random);
  db.prepare('UPDATE remap_entry SET v3_svc_id = v3_svc_id + 1 WHERE id = ?').run(one.row);
  return true;
};

const dropRow: Corruption = (db, random) => {
  db.prepare('DELETE FROM remap_entry WHERE id = ?').run(pick(pairsOf(db), random).row);
  return true;
};

/** The row stays and says there is no twin. */
const dropTwin: Corruption = (db, random) => {
  const { row } = pick(pairsOf(db), random);
  db.prepare(
    "UPDATE remap_entry SET v4_svc_id = NULL, status = 'unmatched', reason = 'unexplained' WHERE id = ?",
  ).run(row);
  return true;
};

/** Only the id goes; status and reason stay as they were. */
const dropId: Corruption = (db, random) => {
  const { row } = pick(pairsOf(db), random);
  db.prepare('UPDATE remap_entry SET v4_svc_id = NULL WHERE id = ?').run(row);
  return true;
};

const COLUMNS =
  'model, path, region, v3_company_id, v4_company_id, platform_id, parent_platform_id, v3_svc_id, v4_svc_id, status, reason, matched_by, evidence, unique_id_conflict';

const duplicateRow: Corruption = (db, random) => {
  const { row } = pick(pairsOf(db), random);
  db.prepare(`INSERT INTO remap_entry(${COLUMNS}) SELECT ${COLUMNS} FROM remap_entry WHERE id = ?`).run(row);
  return true;
};

/** A second row gives the V3 id another twin. */
const duplicateWithOtherTwin: Corruption = (db, random) => {
  const pairs = pairsOf(db);
  const one = pick(pairs, random);
  const other = pickOther(one, pairs, random);
  if (other === null) return false;
  const columns = COLUMNS.replace('v4_svc_id', '?');
  db.prepare(`INSERT INTO remap_entry(${COLUMNS}) SELECT ${columns} FROM remap_entry WHERE id = ?`).run(
    other.v4,
    one.row,
  );
  return true;
};

/** A second V3 record is given a twin that is taken. */
const giveTakenTwin: Corruption = (db, random) => {
  const pairs = pairsOf(db);
  const one = pick(pairs, random);
  const other = pickOther(one, pairs, random);
  if (other === null) return false;
  setV4(db, one.row, other.v4);
  return true;
};

export const CORRUPTIONS: Readonly<Record<string, Corruption>> = {
  'swap V4 ids': swapIds,
  'swap V4 ids and companies': swapPlaces,
  'swap V3 ids': swapV3,
  'shift to the next V4 id': shiftToNext,
  'shift the V4 id by one': shiftByOne,
  'shift the V3 id by one': shiftV3ByOne,
  'drop the row': dropRow,
  'drop the twin': dropTwin,
  'drop the V4 id': dropId,
  'duplicate the row': duplicateRow,
  'duplicate with another twin': duplicateWithOtherTwin,
  'give a taken twin': giveTakenTwin,
};
