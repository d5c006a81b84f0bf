import { prepareInsertRows } from './records.js';
import {
  BlockDigest,
  type RemapGroup,
  RowDigests,
  type RowId,
  type RowsText,
  renderGroup,
} from './remap-blocks.js';
import { ROWS_PER_BLOCK } from './remap-rows.js';
import { REMAP_INDEXES, REMAP_TABLES } from './schema.js';
import type { Db } from './sqlite.js';

/** V3 records of one day, ms since 1970. */
interface DayCount {
  count: number;
  earliestMs: number | null;
  latestMs: number | null;
}

/** A group with what is counted while its rows are written. */
export interface CountedGroup extends RemapGroup {
  readonly id: number;
  count: number;
  firstRow: number;
  lastRow: number;
  /** The ids of its first few rows, unless they are matched. */
  readonly firstRows: number[];
  /** By day since 1970; null if the date is unreadable. */
  readonly days: Map<number | null, DayCount>;
}

const MAX_FIRST_ROWS = 5;
const DAY_MS = 86_400_000;

/** Writes a new remap, row by row in its order; part of the caller's transaction, which keeps the old remap if it fails. */
export class RemapWriter {
  readonly #db: Db;
  readonly #groups = new Map<string, CountedGroup>();
  readonly #texts: string[] = [];
  readonly #insert: ReturnType<typeof prepareInsertRows>;
  readonly #digests = new RowDigests();
  readonly #blockDigest = new BlockDigest((group) => this.#texts[group] ?? '');
  /** Rows of the current block. */
  #inBlock = 0;
  #rows = 0;
  /** Rows that are `matched` without an id on both sides. */
  halfMatched = 0;

  constructor(db: Db) {
    this.#db = db;
    db.exec(`DROP TABLE remap_group; DROP TABLE remap_row; DROP TABLE remap_day; ${REMAP_TABLES}`);
    this.#insert = prepareInsertRows(db, ROW_INSERT, ROW_WIDTH, ROWS_PER_BLOCK);
  }

  groupOf(group: RemapGroup): CountedGroup {
    const name = renderGroup(0, group);
    let known = this.#groups.get(name);
    if (known === undefined) {
      known = {
        ...group,
        id: this.#groups.size + 1,
        count: 0,
        firstRow: 0,
        lastRow: 0,
        firstRows: [],
        days: new Map(),
      };
      this.#groups.set(name, known);
      this.#texts[known.id] = renderGroup(known.id, group);
    }
    return known;
  }

  /** Writes a row and returns its id. `parent`: of a child, the row of the record that holds it. */
  add(
    group: CountedGroup,
    v3: RowId | null,
    v4: RowId | null,
    key: string | null,
    parent: number | null,
    ownEvidence: string | null,
  ): number {
    const row = ++this.#rows;
    group.count += 1;
    if (group.count === 1) group.firstRow = row;
    group.lastRow = row;
    if (group.status !== 'matched') {
      if (group.firstRows.length < MAX_FIRST_ROWS) group.firstRows.push(row);
    } else if (v3 === null || v4 === null) this.halfMatched += 1;
    const evidence = evidenceOf(group, ownEvidence);
    const { values } = this.#insert;
    const to = this.#inBlock * ROW_WIDTH;
    values[to] = group.id;
    values[to + 1] = parent;
    values[to + 2] = v3;
    values[to + 3] = v4;
    values[to + 4] = key;
    values[to + 5] = evidence;
    this.#blockDigest.add(group.id, parent, v3, v4, key, evidence);
    if (++this.#inBlock === ROWS_PER_BLOCK) this.#flush();
    return row;
  }

  /** Counts the V3 record of a row by its latest date, ms since 1970 or NaN. */
  countDay({ days }: CountedGroup, latestMs: number): void {
    const ms = Number.isNaN(latestMs) ? null : latestMs;
    const day = ms === null ? null : Math.floor(ms / DAY_MS);
    const known = days.get(day);
    if (known === undefined) days.set(day, { count: 1, earliestMs: ms, latestMs: ms });
    else {
      known.count += 1;
      if (ms !== null && known.earliestMs !== null) known.earliestMs = Math.min(known.earliestMs, ms);
      if (ms !== null && known.latestMs !== null) known.latestMs = Math.max(known.latestMs, ms);
    }
  }

  get groups(): Iterable<CountedGroup> {
    return this.#groups.values();
  }

  /** Ends the remap; returns the digests of its rows. */
  finish(): RowsText {
    this.#flush();
    const insertGroup = this.#db.prepare(
      `INSERT INTO remap_group VALUES (${Array.from({ length: GROUP_WIDTH }, () => '?').join(', ')})`,
    );
    const insertDay = this.#db.prepare('INSERT INTO remap_day VALUES (?, ?, ?, ?, ?)');
    for (const group of this.#groups.values()) {
      const { id, model, path, region, v3CompanyId, v4CompanyId, status, reason, matchedBy } = group;
      insertGroup.run(
        ...[id, model, path, region, v3CompanyId, v4CompanyId, status, reason, matchedBy],
        ...[group.provisional ? 1 : 0, group.conflict ? 1 : 0, group.count, group.firstRow, group.lastRow],
        JSON.stringify(group.firstRows),
      );
      for (const [day, { count, earliestMs, latestMs }] of group.days) {
        insertDay.run(id, day, count, earliestMs, latestMs);
      }
    }
    this.#db.exec(REMAP_INDEXES);
    return this.#digests.finish(this.#rows);
  }

  #flush(): void {
    if (this.#inBlock === 0) return;
    this.#insert.run(this.#inBlock);
    this.#digests.add(this.#blockDigest.take());
    this.#inBlock = 0;
  }
}

/** Without the id: SQLite numbers the rows of a new table from 1, and would look up an id that is given. */
const ROW_INSERT = 'INSERT INTO remap_row(group_id, parent, v3_svc_id, v4_svc_id, platform_id, evidence)';
const ROW_WIDTH = 6;
const GROUP_WIDTH = 15;

/** The evidence of a row without any of its own is that of its group. */
function evidenceOf({ provisional }: RemapGroup, evidence: string | null): string | null {
  if (evidence === null || !provisional) return evidence;
  const before: object = JSON.parse(evidence);
  return JSON.stringify({ ...before, provisional: true });
}
