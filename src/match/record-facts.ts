import { crc32 } from 'node:zlib';
import { openEnvelope } from '../api/pages.js';
import type { Db, Statement } from '../store/sqlite.js';
import { readStoredPage } from './derive-again.js';

/** The fields by which two records of one key are compared, besides the configured date fields. */
const FIELDS = [
  ...['platform_unique_id', 'posted_date', 'created_at', 'updated_at', 'org_created_at', 'fiscal_start_at'],
  ...['document_number', 'reference', 'code', 'name', 'legal_name', 'order_name', 'order_number'],
  ...[
    'currency_id',
    'base_currency',
    'total_amount',
    'remaining_credit',
    'tax_amount',
    'amount',
    'amount_due',
  ],
  ...['unit_price', 'sub_total', 'total_discount', 'shipping_amount'],
];

export type FactVerdict = 'agrees' | 'differs' | 'incomparable';

export type RecordFacts = Int32Array;

interface FactRow {
  readonly id: bigint;
  readonly pageId: bigint | null;
  readonly svcId: bigint;
  readonly generation: 'v3' | 'v4';
  readonly uniqueId: string | null;
  readonly createdMs: bigint | null;
}

/**
 * Reads the compared fields of records from the stored pages. Where pages are not stored, only the unique id and the
 * creation date can be compared.
 */
export class FactReader {
  readonly #db: Db;
  readonly #idField: string;
  readonly #fields: readonly string[];
  readonly #throwIfStopped: () => void;
  readonly #page: Statement<[bigint], { encoding: string; body: Buffer }>;

  constructor(db: Db, fieldPrefix: string, dateFields: readonly string[], throwIfStopped: () => void) {
    this.#db = db;
    this.#idField = `${fieldPrefix}id`;
    this.#fields = [...new Set([...FIELDS, ...dateFields])];
    this.#throwIfStopped = throwIfStopped;
    this.#page = db.prepare('select encoding, body from page where id = ?');
  }

  read(records: Iterable<bigint>): ReadonlyMap<bigint, RecordFacts> {
    this.#db.exec('create temp table if not exists wanted(id integer primary key); delete from temp.wanted');
    const want = this.#db.prepare<[bigint]>('insert or ignore into temp.wanted values (?)');
    for (const record of records) want.run(record);
    const rows = this.#db.prepare<[], FactRow>(`
      select r.id, r.page_id as pageId, r.svc_id as svcId, s.generation, r.unique_id as uniqueId, r.created_ms as createdMs
      from temp.wanted as w cross join record as r on r.id = w.id cross join stream as s on s.id = r.stream_id
      order by r.page_id`);
    const facts = new Map<bigint, RecordFacts>();
    let pageId: bigint | null = null;
    let objects: ReadonlyMap<number, object | null> = new Map();
    for (const row of rows.all()) {
      if (row.pageId !== null && row.pageId !== pageId) {
        this.#throwIfStopped();
        objects = this.#readPage(row.pageId, row.generation);
      }
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
      const svcId = member(object, this.#idField);
      if (typeof svcId === 'number') objects.set(svcId, objects.has(svcId) ? null : object);
    }
    return objects;
  }

  #factsOf({ uniqueId, createdMs }: FactRow, object: object | null | undefined): RecordFacts {
    const created = createdMs === null ? undefined : new Date(Number(createdMs)).toISOString();
    const source = object ?? { platform_unique_id: uniqueId, created_at: created };
    return Int32Array.from(this.#fields, (field) => digestValue(member(source, field)));
  }
}

function member(object: unknown, name: string): unknown {
  return typeof object === 'object' && object !== null ? Reflect.get(object, name) : undefined;
}

const TIME = /^\d{4}-\d\d-\d\d(?:[T ]|$)/;
const DECIMAL = /^-?\d+\.\d+$/;

/** A digest by meaning: times by the second, `"1.50"` like `1.5`. 0 for no value, objects and lists. */
function digestValue(value: unknown): number {
  if (typeof value === 'number' || typeof value === 'boolean') return crc32(String(value)) | 1;
  if (typeof value !== 'string' || value === '') return 0;
  const ms = TIME.test(value) ? Date.parse(value) : Number.NaN;
  if (!Number.isNaN(ms)) return crc32(`time ${Math.floor(ms / 1000)}`) | 1;
  return crc32(DECIMAL.test(value) ? String(Number(value)) : value) | 1;
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
