import { itemPattern, PLAIN, parseItems } from '../records/json-items.js';
import type { Db } from '../store/open.js';

/** A record with a key, as the walk over all keys meets it. */
export interface Keyed {
  readonly gen: 3 | 4;
  /** Its company's row in `c3` or `c4`. */
  readonly company: number;
  readonly deleted: boolean;
  /** Whether its stream was read in full. */
  readonly inFull: boolean;
  readonly id: number;
  readonly uid: string | null;
  readonly facts: string;
}

/**
 * Rows read at once: nothing can be written while a query is read. They come as one text, which costs half of what a
 * row each does. With 500 their facts fill more than 128 KiB: V8 keeps such texts by themselves, and in one of four
 * remaps took 30 MiB more before it let go of them.
 */
const CHUNK = 200;

/** `tag` packs what is small: company × 8 + in full × 4 + deleted × 2 + (1 for V4). */
const TAG = '(ifnull(c3.ix, c4.ix) * 8 + x.in_full * 4 + r.deleted * 2 + (x.gen = 4))';

/** Sorts every record with a key by model and key, once, into `keyed`. */
export function saveKeyed(db: Db): void {
  db.exec(`
    CREATE TEMP TABLE keyed(
      at INTEGER PRIMARY KEY, model INTEGER NOT NULL, key TEXT NOT NULL, tag INTEGER NOT NULL, id INTEGER NOT NULL,
      uid TEXT, facts TEXT NOT NULL
    ) STRICT;
    INSERT INTO keyed(model, key, tag, id, uid, facts)
      SELECT x.model_ix, r.platform_id, ${TAG}, r.id, r.unique_id, r.facts
        FROM record AS r CROSS JOIN x ON x.stream_id = r.stream_id
        LEFT JOIN c3 ON x.gen = 3 AND c3.region = x.region AND c3.company_id = r.company_id
        LEFT JOIN c4 ON x.gen = 4 AND c4.company_id = r.company_id
        WHERE r.platform_id IS NOT NULL ORDER BY 1, 2, 3;
  `);
}

/**
 * Walks `keyed` in its order and hands over the records of each key of a model, by generation and company among
 * themselves. `onGroup` may write to the database.
 */
export function walkKeyed(
  db: Db,
  wanted: { readonly facts: boolean },
  onGroup: (group: readonly Keyed[], model: number, key: string) => void,
): void {
  const facts = wanted.facts ? 'facts' : `''`;
  const read = db
    .prepare<[bigint, bigint], string>(`
      SELECT json_group_array(json_array(model, key, tag, id, uid, ${facts}))
        FROM (SELECT * FROM keyed WHERE at BETWEEN ? AND ? ORDER BY at)`)
    .pluck();
  let group: Keyed[] = [];
  let ofModel = 0;
  let ofKey = '';
  for (let at = 1; ; at += CHUNK) {
    const rows = parseItems(read.get(BigInt(at), BigInt(at + CHUNK - 1)) ?? '[]', ROW, rowOf);
    for (const row of rows) {
      const [model, key] = row;
      if (model !== ofModel || key !== ofKey) {
        if (group.length > 0) onGroup(group, ofModel, ofKey);
        group = [];
        ofModel = model;
        ofKey = key;
      }
      group.push(keyedOf(row));
    }
    if (rows.length < CHUNK) break;
  }
  if (group.length > 0) onGroup(group, ofModel, ofKey);
}

type Row = readonly [model: number, key: string, tag: number, id: number, uid: string | null, facts: string];

const ROW = itemPattern(String.raw`(\d+),${PLAIN},(\d+),(\d+),(?:${PLAIN}|null),${PLAIN}`);

function rowOf(found: RegExpExecArray): Row {
  const [model, tag, id] = [Number(found[1]), Number(found[3]), Number(found[4])];
  return [model, found[2] ?? '', tag, id, found[5] ?? null, found[6] ?? ''];
}

function keyedOf([, , tag, id, uid, facts]: Row): Keyed {
  const flags = tag % 8;
  return {
    gen: flags % 2 === 1 ? 4 : 3,
    company: (tag - flags) / 8,
    deleted: (flags & 2) !== 0,
    inFull: (flags & 4) !== 0,
    id,
    uid,
    facts,
  };
}
