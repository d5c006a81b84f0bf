import { openEnvelope } from '../api/pages.js';
import { comparedFields, digestFacts, type RecordFacts, unpackFacts } from '../api/record-facts.js';
import type { Db, Statement } from '../store/sqlite.js';
import { readStoredPage } from './derive-again.js';

export type FactVerdict = 'agrees' | 'differs' | 'incomparable';

interface FactRow {
  readonly id: bigint;
  readonly pageId: bigint | null;
  readonly facts: Buffer | null;
  readonly svcId: bigint;
  readonly generation: 'v3' | 'v4';
  readonly uniqueId: string | null;
  readonly createdMs: bigint | null;
}

/** Reads digests of the compared fields: from the stored pages, or where these are not stored, from the records. */
export class FactReader {
  readonly #db: Db;
  readonly #idField: string;
  readonly #fields: readonly string[];
  readonly #page: Statement<[bigint], { encoding: string; body: Buffer }>;

  constructor(db: Db, fieldPrefix: string, dateFields: readonly string[]) {
    this.#db = db;
    this.#idField = `${fieldPrefix}id`;
    this.#fields = comparedFields(dateFields);
    this.#page = db.prepare('select encoding, body from page where id = ?');
  }

  read(records: Iterable<bigint>): ReadonlyMap<bigint, RecordFacts> {
    this.#db.exec('create temp table if not exists wanted(id integer primary key); delete from temp.wanted');
    const want = this.#db.prepare<[bigint]>('insert or ignore into temp.wanted values (?)');
    for (const record of records) want.run(record);
    const rows = this.#db.prepare<[], FactRow>(`
      select r.id, r.page_id as pageId, r.facts, r.svc_id as svcId, s.generation, r.unique_id as uniqueId, r.created_ms as createdMs
      from temp.wanted as w cross join record as r on r.id = w.id cross join stream as s on s.id = r.stream_id
      order by r.page_id`);
    const facts = new Map<bigint, RecordFacts>();
    let pageId: bigint | null = null;
    let objects: ReadonlyMap<number, object | null> = new Map();
    for (const row of rows.all()) {
      if (row.pageId !== null && row.pageId !== pageId) objects = this.#readPage(row.pageId, row.generation);
      pageId = row.pageId;
      facts.set(row.id, this.#factsOf(row, pageId === null ? undefined : objects.get(Number(row.svcId))));
    }
    return facts;
  }

  /** The records of a page by their rounded ids; null where several ids are the same when rounded. */
  #readPage(id: bigint, generation: 'v3' | 'v4'): ReadonlyMap<number, object | null> {
    const list = readStoredPage(
      this.#page.get(id),
      (text) => openEnvelope(JSON.parse(text), generation).list,
    );
    const objects = new Map<number, object | null>();
    for (const object of list) {
      if (typeof object !== 'object' || object === null) continue;
      const svcId: unknown = Reflect.get(object, this.#idField);
      if (typeof svcId === 'number') objects.set(svcId, objects.has(svcId) ? null : object);
    }
    return objects;
  }

  #factsOf({ facts, uniqueId, createdMs }: FactRow, object: object | null | undefined): RecordFacts {
    if (facts !== null) return unpackFacts(facts);
    const created = createdMs === null ? undefined : new Date(Number(createdMs)).toISOString();
    return digestFacts(object ?? { platform_unique_id: uniqueId, created_at: created }, this.#fields);
  }
}

/** Two records agree if more than half of the fields that both have are equal. */
export function compareFacts(a: RecordFacts, b: RecordFacts): FactVerdict {
  let [both, equal] = [0, 0];
  for (let field = 0; field < a.length; field++) {
    if (a[field] === 0 || b[field] === 0) continue;
    both += 1;
    if (a[field] === b[field]) equal += 1;
  }
  if (both === 0) return 'incomparable';
  return equal * 2 > both ? 'agrees' : 'differs';
}
