import { Sqlite } from '../../src/store/sqlite.js';

/** Bytes of a SQLite file that mean the same kind of thing. */
export interface Region {
  readonly from: number;
  readonly length: number;
}

/** The file's own header is 100 bytes on its first page; fields have at most 4 bytes. */
const FILE_HEADER = 100;
const FIELD = 4;

interface PageRow {
  readonly pageno: number;
  readonly pagetype: 'internal' | 'leaf' | 'overflow';
  readonly ncell: number;
}

/**
 * Every field of the file's header, and the header, the cell pointers and the cells of one page of each kind of each
 * table and index; the length of none is 0.
 */
export function listRegions(file: string, bytes: Buffer): Region[] {
  const db = new Sqlite(file, { readonly: true });
  const size = Number(db.pragma('page_size', { simple: true }));
  // Of the pages of a kind the one in the middle.
  const pages = db
    .prepare<[], PageRow>(
      `SELECT pageno, pagetype, ncell FROM (SELECT *, row_number() OVER kind AS place, count(*) OVER (PARTITION BY name, pagetype) AS pages
         FROM dbstat WINDOW kind AS (PARTITION BY name, pagetype ORDER BY pageno)) WHERE place = (pages + 1) / 2 ORDER BY pageno`,
    )
    .all();
  db.close();
  const fields = Array.from({ length: FILE_HEADER / FIELD }, (_, at) => ({
    from: at * FIELD,
    length: FIELD,
  }));
  return [...fields, ...pages.flatMap((page) => regionsOf(page, size, bytes))].filter(
    ({ length }) => length > 0,
  );
}

function regionsOf({ pageno, pagetype, ncell }: PageRow, size: number, bytes: Buffer): Region[] {
  const start = (pageno - 1) * size;
  if (pagetype === 'overflow') return [{ from: start, length: size }];
  const header = start + (pageno === 1 ? FILE_HEADER : 0);
  const pointers = header + (pagetype === 'leaf' ? 8 : 12);
  // 0 stands for 65,536.
  const cells = start + (bytes.readUInt16BE(header + 5) || 65_536);
  return [
    { from: header, length: pointers - header },
    { from: pointers, length: 2 * ncell },
    { from: cells, length: start + size - cells },
  ];
}
