import type { Db } from '../store/open.js';
import { nameSharing, renderSharing, type Sharing } from './group-evidence.js';
import { type GroupVerdict, judgeGroup } from './judge-group.js';
import { type Keyed, walkKeyed } from './keyed.js';
import { pairedModelId } from './paired-models.js';
import { PairCollector } from './pairs.js';

/**
 * Judges all records by paired model and key. Pairs go to `pair`; records that share their key go to `group_verdict`, with the
 * evidence that names the others. One without either has a key that the other generation lacks, or is not compared.
 */
export function joinRecords(db: Db, assertGoing: () => void): void {
  db.exec(
    'CREATE TEMP TABLE group_verdict(record_id INTEGER PRIMARY KEY, kind TEXT NOT NULL, evidence TEXT NOT NULL) STRICT',
  );
  const scopeOf = prepareScopeOf(db);
  const pairs = new PairCollector(db);
  const save = prepareSave(db);
  walkKeyed(db, { facts: false, assertGoing }, (group, model) => {
    for (const [pairedModel, members] of groupByScope(group, (one) => scopeOf(model, one))) {
      const verdicts = judgeGroup(members);
      pairs.add(members, verdicts, pairedModel);
      for (const [at, verdict] of verdicts.entries()) {
        const one = members[at];
        if (one !== undefined) save(one, verdict, members);
      }
    }
  });
  pairs.save();
}

/** Makes the function that returns the paired model in which a record's key is compared; null: it is not compared. */
function prepareScopeOf(db: Db): (model: number, one: Keyed) => number | null {
  const pairOf = new Map(
    readNumbers(db, 'SELECT id, paired_id FROM scope_v3_company WHERE paired_id IS NOT NULL').map(
      ([id = 0, paired = 0]) => [id, paired],
    ),
  );
  const absent = new Set(readNumbers(db, 'SELECT id FROM paired_model WHERE v4_absent').map(([id]) => id));
  return (model, { gen, company }) => {
    const v4Company = gen === 4 ? company : pairOf.get(company);
    if (v4Company === undefined) return null;
    const id = pairedModelId(model, v4Company);
    return absent.has(id) ? null : id;
  };
}

function readNumbers(db: Db, sql: string): number[][] {
  return db.prepare(sql).raw().safeIntegers(false).all() as number[][];
}

function groupByScope(
  group: readonly Keyed[],
  scopeOf: (one: Keyed) => number | null,
): ReadonlyMap<number, readonly Keyed[]> {
  const groups = new Map<number, Keyed[]>();
  for (const one of group) {
    const scope = scopeOf(one);
    if (scope === null) continue;
    const members = groups.get(scope);
    if (members === undefined) groups.set(scope, [one]);
    else members.push(one);
  }
  return groups;
}

function prepareSave(db: Db): (one: Keyed, verdict: GroupVerdict<Keyed>, members: readonly Keyed[]) => void {
  const insert = db.prepare('INSERT INTO group_verdict VALUES (?, ?, ?)');
  const readId = db.prepare<[number], bigint>('SELECT svc_id FROM record WHERE id = ?').pluck();
  let named: { readonly members: readonly Keyed[]; readonly sharing: Sharing } | null = null;
  return (one, { kind }, members) => {
    if (kind === 'pair' || kind === 'claimed' || kind === 'absent') return;
    if (named?.members !== members) {
      named = { members, sharing: nameSharing(members, ({ id }) => readId.get(id) ?? 0n) };
    }
    insert.run(one.id, kind, renderSharing(kind, one.gen, named.sharing));
  };
}
