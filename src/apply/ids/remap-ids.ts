import { formatModelRef, type ModelRef } from '../../config/apply-targets.js';
import type { Db } from '../../store/open.js';
import { assertDigests, damagedRemap } from '../../store/remap-digest.js';
import { openVerifiedRemap, type VerifiedRemap } from '../../store/verified-remap.js';
import type { Category } from './model-ids.js';
import { type Id, ModelIds, toId } from './model-ids.js';

export interface LoadOptions {
  readonly ref: ModelRef;
  /** Keep region and company of each id, for targets that name them. */
  readonly isScoped: boolean;
  /** Take a deleted record's V4 id as its twin. */
  readonly mapDeleted: boolean;
}

/** A row of the remap, found by its V3 id. */
export interface RowOfId {
  readonly path: string;
  readonly region: string | null;
  /** Digits. */
  readonly company: string | null;
  readonly category: Category;
  /** Status and reason. */
  readonly outcome: string;
  readonly v4: bigint | null;
  readonly platformId: string | null;
}

type RemapCells = [v3: bigint, v4: bigint | null, Category, region: string | null, company: string | null];

/**
 * The ids of the remap, by model. Each part of the remap is verified when it is first read; parts that are not needed cost
 * nothing. All methods throw `corrupt_database` if a part was altered or damaged. `db` must be in a transaction if another
 * process could build a remap meanwhile: what was verified is then what is read.
 */
export class RemapIds {
  readonly #db: Db;
  readonly #remap: VerifiedRemap;
  readonly #loaded = new Map<string, ModelIds>();
  #refs: readonly ModelRef[] | null = null;
  #select: ReturnType<typeof prepareRow> | null = null;

  constructor(db: Db) {
    this.#db = db;
    this.#remap = openVerifiedRemap(db);
  }

  /** Loads all V3 ids of a model, once: looking up a million of them one by one takes three to eight times as long. */
  load({ ref, isScoped, mapDeleted }: LoadOptions): ModelIds {
    const key = `${formatModelRef(ref)} ${isScoped} ${mapDeleted}`;
    const known = this.#loaded.get(key);
    if (known !== undefined) return known;
    let left = this.#countV3(ref);
    const ids = new ModelIds(ref, left, isScoped);
    const scope = isScoped ? 'region, CAST(v3_company_id AS TEXT)' : 'NULL, NULL';
    const columns = `v3_svc_id, v4_svc_id, ${categorySql(mapDeleted)}, ${scope}`;
    this.#readModel<RemapCells>(ref, columns, ([v3, v4, category, region, company]) => {
      if (left-- === 0) throw damagedRemap('remap_group');
      const isMapped = category === 'mapped' && v4 !== null;
      ids.add(toId(v3), { category, region, company }, isMapped ? toId(v4) : 0);
    });
    this.#loaded.set(key, ids);
    return ids;
  }

  /** The number of rows with a V3 id. */
  #countV3({ model, path }: ModelRef): number {
    assertDigests(this.#db, ['remap_group']);
    const sql =
      'SELECT coalesce(sum(count), 0) FROM remap_group WHERE model = ? AND path = ? AND v3_company_id IS NOT NULL';
    return Number(this.#db.prepare<[string, string], bigint>(sql).pluck().get(model, path) ?? 0);
  }

  /** The `platform_id`s of loaded ids, by slot; undefined where the rows of an id differ. */
  loadPlatformIds(ids: ModelIds): readonly (string | null | undefined)[] {
    const found = new Array<string | null | undefined>(ids.slots);
    const isKnown = new Uint8Array(ids.slots);
    this.#readModel<[bigint, string | null]>(ids.ref, 'v3_svc_id, platform_id', ([id, platformId]) => {
      const slot = ids.find(toId(id));
      if (slot < 0) return;
      found[slot] = isKnown[slot] === 1 && found[slot] !== platformId ? undefined : platformId;
      isKnown[slot] = 1;
    });
    return found;
  }

  /** Whether an id is a V4 id of a model. */
  hasV4(ref: ModelRef, id: Id): boolean {
    return this.#find('v4', ref, id, false).length > 0;
  }

  /** The rows of a V3 id. */
  rowsOf(ref: ModelRef, id: Id, mapDeleted: boolean): readonly RowOfId[] {
    return this.#find('v3', ref, id, mapDeleted);
  }

  /** Every model and child path. */
  refs(): readonly ModelRef[] {
    if (this.#refs === null) {
      assertDigests(this.#db, ['remap_group']);
      this.#refs = this.#db
        .prepare<[], ModelRef>('SELECT DISTINCT model, path FROM remap_group ORDER BY model, path')
        .all();
    }
    return this.#refs;
  }

  /** Whether there are rows of a model or child path. */
  holdsModel({ model, path }: ModelRef): boolean {
    return this.#holds('model = ? AND path = ?', [model, path]);
  }

  /** Whether there are rows of a region. */
  holdsRegion(region: string): boolean {
    return this.#holds('region = ?', [region]);
  }

  #holds(where: string, values: readonly string[]): boolean {
    assertDigests(this.#db, ['remap_group']);
    return (
      this.#db.prepare<string[]>(`SELECT 1 FROM remap_group WHERE ${where} LIMIT 1`).get(...values) !==
      undefined
    );
  }

  #find(part: 'v3' | 'v4', { model, path }: ModelRef, id: Id, mapDeleted: boolean): RowOfId[] {
    this.#select ??= prepareRow(this.#db);
    const select = this.#select;
    return this.#remap.find(part, model, BigInt(id)).flatMap((row) => {
      const found = select.get({ row, part, model, id: BigInt(id), mapDeleted: mapDeleted ? 1n : 0n });
      // Verification reads the table from start to end; damage to its inner pages can hide a row from a search by rowid.
      if (found === undefined) throw damagedRemap('rows');
      return found.path === path ? [found] : [];
    });
  }

  #readModel<Row>({ model, path }: ModelRef, columns: string, onRow: (row: Row) => void): void {
    const select = this.#db
      .prepare<[bigint, bigint, string, string], Row>(
        `SELECT ${columns} FROM remap_entry
         WHERE id BETWEEN ? AND ? AND model = ? AND path = ? AND v3_svc_id IS NOT NULL`,
      )
      .raw();
    const read = () => {
      for (const [from, to] of this.#remap.rangesOf(model)) {
        for (const row of select.all(from, to, model, path)) onRow(row);
      }
    };
    // One transaction, so that the rows read are those verified. It cannot begin while another query is being read.
    if (this.#db.inTransaction) read();
    else this.#db.transaction(read)();
  }
}

function prepareRow(db: Db) {
  return db.prepare<[object], RowOfId>(
    `SELECT path, region, CAST(v3_company_id AS TEXT) AS company, v4_svc_id AS v4, platform_id AS platformId,
       status || '/' || coalesce(reason, '') AS outcome,
       CASE WHEN @mapDeleted THEN ${categorySql(true)} ELSE ${categorySql(false)} END AS category
     FROM remap_entry WHERE id = @row AND model = @model AND iif(@part = 'v3', v3_svc_id, v4_svc_id) = @id`,
  );
}

/** The category of a remap row's V3 id in any SQL: `mapped`, or its status and reason. */
function categorySql(mapDeleted: boolean): string {
  const statuses = mapDeleted ? "'matched', 'deleted'" : "'matched'";
  return `CASE WHEN v4_svc_id IS NOT NULL AND status IN (${statuses}) THEN 'mapped' ELSE status || '/' || coalesce(reason, '') END`;
}
