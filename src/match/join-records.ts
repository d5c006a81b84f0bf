import type { Db } from '../store/open.js';
import { nameSharing, renderSharing, type Sharing } from './group-evidence.js';
import { judgeGroup, type Verdict } from './judge-group.js';
import { type Keyed, walkKeyed } from './keyed.js';
import type { Pairs } from './pairs.js';
import { PLACES } from './places.js';

/**
 * Judges all records by key and place. Pairs go to `pairs`; records that share their key go to `verdict`, with the
 * evidence that names the others. One without either has a key that the other generation lacks, or is not compared.
 */
export function joinRecords(db: Db, pairs: Pairs): void {
  db.exec(
    'CREATE TEMP TABLE verdict(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, evidence TEXT NOT NULL) STRICT',
  );
  const placeOf = preparePlaceOf(db);
  const save = prepareSave(db);
  walkKeyed(db, { facts: false }, (group, model) => {
    for (const [place, members] of byPlace(group, (one) => placeOf(model, one))) {
      const verdicts = judgeGroup(members);
      pairs.add(members, verdicts, place);
      for (const [at, verdict] of verdicts.entries()) {
        const one = members[at];
        if (one !== undefined) save(one, verdict, members);
      }
    }
  });
}

/** Makes the function that tells where a record's key is compared; null: nowhere. */
function preparePlaceOf(db: Db): (model: number, one: Keyed) => number | null {
  const pairOf = new Map(
    readNumbers(db, 'SELECT ix, pair FROM c3 WHERE pair IS NOT NULL').map(([ix = 0, pair = 0]) => [ix, pair]),
  );
  const absent = new Set(readNumbers(db, 'SELECT place FROM place WHERE v4_absent').map(([place]) => place));
  return (model, { gen, company }) => {
    const v4Company = gen === 4 ? company : pairOf.get(company);
    if (v4Company === undefined) return null;
    const place = model * PLACES + v4Company;
    return absent.has(place) ? null : place;
  };
}

function readNumbers(db: Db, sql: string): number[][] {
  return db.prepare(sql).raw().safeIntegers(false).all() as number[][];
}

function byPlace(
  group: readonly Keyed[],
  placeOf: (one: Keyed) => number | null,
): ReadonlyMap<number, readonly Keyed[]> {
  const groups = new Map<number, Keyed[]>();
  for (const one of group) {
    const place = placeOf(one);
    if (place === null) continue;
    const members = groups.get(place);
    if (members === undefined) groups.set(place, [one]);
    else members.push(one);
  }
  return groups;
}

function prepareSave(db: Db): (one: Keyed, verdict: Verdict<Keyed>, members: readonly Keyed[]) => void {
  const insert = db.prepare('INSERT INTO verdict VALUES (?, ?, ?)');
  const readId = db.prepare<[number], bigint>('SELECT svc_id FROM record WHERE id = ?').pluck();
  let named: { readonly members: readonly Keyed[]; readonly sharing: Sharing } | null = null;
  return (one, { kind }, members) => {
    if (kind === 'pair' || kind === 'pointed' || kind === 'absent') return;
    if (named?.members !== members) {
      named = { members, sharing: nameSharing(members, ({ id }) => readId.get(id) ?? 0n) };
    }
    insert.run(one.id, kind, renderSharing(kind, one.gen, named.sharing));
  };
}
