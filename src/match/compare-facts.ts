import { openEnvelope } from '../api/pages.js';
import { comparedFields, digestFacts, type RecordFacts, unpackFacts } from '../api/record-facts.js';
import type { Config } from '../config/config.js';
import type { Db } from '../store/sqlite.js';
import { append } from '../text/rows.js';
import { readStoredPage } from './derive-again.js';

interface FactRow {
  readonly id: bigint;
  readonly pageId: bigint | null;
  readonly facts: Buffer | null;
  readonly svcId: bigint;
  readonly generation: 'v3' | 'v4';
  readonly uniqueId: string | null;
  readonly createdMs: bigint | null;
}

type PageObjects = ReadonlyMap<number, object | null>;

/** Reads digests of the compared fields: from the stored pages, or where these are not stored, from the records. */
export function readFacts(
  db: Db,
  { fieldPrefix, backfill }: Config,
  records: Iterable<bigint>,
): ReadonlyMap<bigint, RecordFacts> {
  db.exec('create temp table if not exists wanted(id integer primary key); delete from temp.wanted');
  const want = db.prepare<[bigint]>('insert or ignore into temp.wanted values (?)');
  for (const record of records) want.run(record);
  const rows = db.prepare<[], FactRow>(`
    select r.id, r.page_id as pageId, r.facts, r.svc_id as svcId, s.generation, r.unique_id as uniqueId, r.created_ms as createdMs
    from temp.wanted as w cross join record as r on r.id = w.id cross join stream as s on s.id = r.stream_id
    order by r.page_id`);
  const page = db.prepare<[bigint], { encoding: string; body: Buffer }>(
    'select encoding, body from page where id = ?',
  );
  const fields = comparedFields(backfill.dateFields);
  let pageId: bigint | null = null;
  let objects: PageObjects = new Map();
  const read = new Map<bigint, RecordFacts>();
  for (const row of rows.all()) {
    if (row.pageId !== null && row.pageId !== pageId) {
      const list = readStoredPage(
        page.get(row.pageId),
        (text) => openEnvelope(JSON.parse(text), row.generation).list,
      );
      objects = indexObjects(list, `${fieldPrefix}id`);
    }
    pageId = row.pageId;
    const object = pageId === null ? null : objects.get(Number(row.svcId));
    read.set(
      row.id,
      row.facts === null ? digestFacts(object ?? storedFields(row), fields) : unpackFacts(row.facts),
    );
  }
  return read;
}

/** The records of a page by their rounded ids; null where several ids are the same when rounded. */
function indexObjects(list: readonly unknown[], idField: string): PageObjects {
  const objects = new Map<number, object | null>();
  for (const object of list) {
    if (typeof object !== 'object' || object === null) continue;
    const svcId: unknown = Reflect.get(object, idField);
    if (typeof svcId === 'number') objects.set(svcId, objects.has(svcId) ? null : object);
  }
  return objects;
}

function storedFields({ uniqueId, createdMs }: FactRow): object {
  const created = createdMs === null ? undefined : new Date(Number(createdMs)).toISOString();
  return { platform_unique_id: uniqueId, created_at: created };
}

export type FactVerdict = 'agrees' | 'differs' | 'incomparable';

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

function fieldsOf(facts: RecordFacts): number[] {
  return [...facts.keys()].filter((field) => facts[field] !== 0);
}

export interface CompanyRecord {
  readonly company: number;
  readonly facts: RecordFacts;
}

type Bucket = readonly CompanyRecord[];

type Shape = ReadonlyMap<string, Bucket>;

/** Limits on the records that one record is compared with, and on shapes. Beyond them, records are not compared. */
const MAX_COMPARED = 64;
const MAX_SHAPES = 64;

/**
 * Finds the records of one key that agree with a given one, without comparing every pair.
 *
 * Two records agree if more than half of their common fields are equal. So at least one field is equal in any half of
 * the common fields, and it is enough to compare records that share a value in the half with the rarest values. If these
 * are too many, they are not compared, and it stays unknown which of them agree.
 */
export class FactIndex {
  readonly #shapes: ReadonlyMap<string, Shape>;
  readonly #records: readonly CompanyRecord[];

  constructor(records: readonly CompanyRecord[]) {
    this.#records = [
      ...new Map(records.map((record) => [`${record.company} ${record.facts}`, record])).values(),
    ];
    const shapes = new Map<string, Map<string, CompanyRecord[]>>();
    for (const record of this.#records) {
      const fields = fieldsOf(record.facts);
      const shape = shapes.get(fields.join()) ?? new Map<string, CompanyRecord[]>();
      shapes.set(fields.join(), shape);
      for (const field of fields) append(shape, `${field} ${record.facts[field]}`, record);
    }
    this.#shapes = shapes;
  }

  /** The companies with a record that agrees, and records of which it is unknown whether they do. */
  find(facts: RecordFacts): {
    readonly companies: ReadonlySet<number>;
    readonly uncompared: readonly Bucket[];
  } {
    if (this.#shapes.size > MAX_SHAPES) return { companies: new Set(), uncompared: [this.#records] };
    const companies = new Set<number>();
    const uncompared: Bucket[] = [];
    const fieldsOfRecord = fieldsOf(facts);
    for (const [fields, shape] of this.#shapes) {
      const shared = new Set(fields.split(',').map(Number));
      const buckets = fieldsOfRecord
        .filter((field) => shared.has(field))
        .map((field) => shape.get(`${field} ${facts[field]}`) ?? [])
        .sort((a, b) => a.length - b.length);
      const rarest = buckets.slice(0, Math.ceil(buckets.length / 2));
      const size = rarest.reduce((sum, { length }) => sum + length, 0);
      if (size > MAX_COMPARED) uncompared.push(...rarest);
      else
        for (const record of rarest.flat()) {
          if (compareFacts(facts, record.facts) === 'agrees') companies.add(record.company);
        }
    }
    return { companies, uncompared };
  }
}
