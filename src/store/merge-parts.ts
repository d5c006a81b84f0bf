import { setImmediate } from 'node:timers/promises';
import { SvcError } from '../errors.js';
import { groupBy } from '../text/group-by.js';
import { checksumOf } from './checksum.js';
import { type Fingerprint, readStoredFingerprint, saveFingerprint } from './fingerprint.js';
import { prepareBumpExportSeq, readExportSeq, readMeta } from './meta.js';
import type { Db } from './open.js';
import { nameOfList } from './planned-lists.js';
import { listStreams, readCompanyList, readV4Companies, type StreamRow, sealV4Companies } from './streams.js';

/** A database that holds some of the lists of an export. */
export interface Part {
  readonly file: string;
  readonly fingerprint: Fingerprint;
  readonly streams: readonly StreamRow[];
  /** V4's company list; null if this part did not read V4. */
  readonly v4Companies: readonly bigint[] | null;
  /** Whether the company list was read in full, or V4 has none. */
  readonly hasCompanyList: boolean;
}

/** Why the parts cannot be merged; both lists are empty if they can. */
export interface PartProblems {
  /** Exported with other settings, or read twice. */
  readonly conflicting: readonly string[];
  /** Not read, or not to the end. */
  readonly incomplete: readonly string[];
}

/** Settings that a part may lack, because it has none of their lists. */
const MAY_LACK = /^(?:v3\.regions|models|v4\.models)\./;

/** Whether an export of this list began. An export of some models or companies only plans the other lists. */
function isBegun({ state, pages }: StreamRow): boolean {
  return state !== 'running' || pages > 0;
}

/** Compares the parts with each other and with the settings of the whole. */
export function judgeParts(parts: readonly Part[], whole: Fingerprint): PartProblems {
  const all = parts.flatMap(({ file, streams }) => streams.map((stream) => ({ file, stream })));
  const lists = groupBy(all, ({ stream }) => {
    const { generation, region, model, companyId } = stream;
    return `${generation} ${region} ${model} ${companyId}`;
  });
  const conflicting = [...parts.flatMap((part) => settingProblems(part, whole)), ...companyProblems(parts)];
  const incomplete = parts
    .filter(({ hasCompanyList }) => !hasCompanyList)
    .map(({ file }) => `${file}: V4's company list was not read to the end`);
  for (const list of lists.values()) {
    const begun = list.filter(({ stream }) => isBegun(stream));
    const [first] = list;
    const name =
      first === undefined ? '' : `${first.stream.generation.toUpperCase()} ${nameOfList(first.stream)}`;
    if (begun.length === 0) incomplete.push(`no part has ${name}`);
    else if (begun.length > 1)
      conflicting.push(`${name} is in ${begun.map(({ file }) => file).join(' and ')}`);
    for (const { file, stream } of begun) {
      if (stream.state === 'running' || stream.state === 'failed')
        incomplete.push(`${file}: ${name} was not read to the end`);
    }
  }
  return { conflicting, incomplete };
}

function settingProblems({ file, fingerprint }: Part, whole: Fingerprint): string[] {
  return [...new Set([...Object.keys(fingerprint), ...Object.keys(whole)])].flatMap((name) => {
    const [own, other] = [fingerprint[name], whole[name]];
    if (own === other || (own === undefined && (MAY_LACK.test(name) || name.startsWith('v')))) return [];
    return [`${file} was exported with ${name} ${own ?? '(none)'}, not ${other ?? '(none)'}`];
  });
}

/** Every part that read V4 must have seen the same companies. */
function companyProblems(parts: readonly Part[]): string[] {
  const listed = parts.filter(({ v4Companies }) => v4Companies !== null);
  const [first, ...others] = listed;
  return others
    .filter(({ v4Companies }) => v4Companies?.join() !== first?.v4Companies?.join())
    .map(({ file }) => `V4 listed other companies for ${file} than for ${first?.file}`);
}

/** Rows copied in one transaction. */
const CHUNK = 20_000;

/**
 * Reads what a part holds.
 *
 * @throws SvcError `corrupt_database`
 */
export function readPart(file: string, db: Db): Part {
  const hasV4 = readMeta(db, 'fingerprint_v4') !== null;
  const list = readCompanyList(db);
  return {
    file,
    fingerprint: readStoredFingerprint(db),
    streams: listStreams(db),
    v4Companies: hasV4 ? readV4Companies(db) : null,
    hasCompanyList: list === null || list.state === 'complete' || list.state === 'short',
  };
}

/** A part, and the state it was in when it was judged. */
export interface MergedPart extends Part {
  readonly db: Db;
  readonly exportSeq: bigint;
}

/**
 * Copies the lists of all parts into an empty database. Calls `step` between chunks, which may throw.
 *
 * @throws SvcError `bad_input` if two lists of companies hold the same V3 record, `locked` if a part changed meanwhile
 */
export async function mergeParts(
  db: Db,
  parts: readonly MergedPart[],
  whole: Fingerprint,
  step: (file: string, done: number, total: number) => void,
): Promise<void> {
  // settings come before the first record, as in an export: records without any count as damage
  db.transaction(() => {
    saveFingerprint(db, 'v3', whole);
    if (parts.some(({ v4Companies }) => v4Companies !== null)) saveFingerprint(db, 'v4', whole);
  })();
  for (const [at, part] of parts.entries()) {
    db.prepare('ATTACH ? AS part').run(part.file);
    try {
      const begun = part.streams.filter(isBegun);
      for (const [nth, stream] of begun.entries()) {
        step(part.file, nth, begun.length);
        await copyList(db, stream, () => step(part.file, nth, begun.length));
      }
      if (part.v4Companies !== null && parts.findIndex(({ v4Companies }) => v4Companies !== null) === at)
        copyCompanies(db);
    } finally {
      db.exec('DETACH part');
    }
    if (readExportSeq(part.db) === part.exportSeq) continue;
    throw new SvcError('locked', `${part.file} is being written.`, {
      hint: 'Merge when its export has finished.',
    });
  }
  db.transaction(prepareBumpExportSeq(db))();
}

/** Copies a list and its records, which get new row ids. */
async function copyList(db: Db, list: StreamRow, step: () => void): Promise<void> {
  const names = columnsOf(db, 'stream').join(', ');
  db.prepare(`INSERT INTO main.stream(${names}) SELECT ${names} FROM part.stream WHERE id = ?`).run(list.id);
  const id = db.prepare<[], bigint>('SELECT last_insert_rowid()').pluck().get() ?? 0n;
  db.prepare(`UPDATE main.stream SET checksum = ${checksumOf('stream')} WHERE id = ?`).run(id);
  for (const table of ['rejected', 'excluded'] as const) {
    const own = columnsOf(db, table).filter((name) => name !== 'stream_id');
    const sql = `INSERT INTO main.${table}(stream_id, ${own.join(', ')}) SELECT ?, ${own.join(', ')} FROM part.${table} WHERE stream_id = ?`;
    db.prepare(sql).run(id, list.id);
  }
  const copy = prepareCopyRecords(db, id, list);
  for (let after: bigint | null = -(2n ** 63n); after !== null; ) {
    const from: bigint = after;
    after = db.transaction(() => copy(from))();
    await setImmediate();
    step();
  }
}

/** Makes the function that copies a chunk of records from a svc_id on. It returns the next chunk's svc_id; null at the end. */
function prepareCopyRecords(db: Db, id: bigint, list: StreamRow): (from: bigint) => bigint | null {
  const own = columnsOf(db, 'record').filter((name) => name !== 'stream_id');
  const endSql = `SELECT svc_id FROM part.record WHERE stream_id = ? AND svc_id >= ? ORDER BY svc_id LIMIT 1 OFFSET ${CHUNK}`;
  const end = db.prepare<[bigint, bigint], bigint>(endSql).pluck();
  const isInChunk = 'stream_id = @old AND svc_id >= @from AND (@next IS NULL OR svc_id < @next)';
  const statements = [
    `INSERT INTO main.record(stream_id, ${own.join(', ')}) SELECT @id, ${own.join(', ')} FROM part.record WHERE ${isInChunk}`,
    `UPDATE main.record SET checksum = ${checksumOf('record')} WHERE stream_id = @id AND svc_id >= @from`,
    `INSERT INTO main.payload(record_id, body, checksum) SELECT copied.id, payload.body, payload.checksum
       FROM part.record AS old JOIN part.payload AS payload ON payload.record_id = old.id
       JOIN main.record AS copied ON copied.stream_id = @id AND copied.svc_id = old.svc_id
       WHERE old.stream_id = @old AND old.svc_id >= @from AND (@next IS NULL OR old.svc_id < @next)`,
  ].map((sql) => db.prepare<[object]>(sql));
  const isSplit = list.generation === 'v3' && list.companyId !== null;
  const claim = db.prepare<[object]>(
    `INSERT OR IGNORE INTO main.split_record(region, model, svc_id, stream_id)
       SELECT @region, @model, svc_id, @id FROM part.record WHERE ${isInChunk}`,
  );
  return (from) => {
    const next = end.get(list.id, from) ?? null;
    const chunk = { id, old: list.id, from, next };
    const [records] = statements.map((statement) => statement.run(chunk).changes);
    if (isSplit && claim.run({ ...chunk, region: list.region, model: list.model }).changes !== records) {
      const text = `A record of ${list.model} in ${list.region} is in the lists of two companies, company ${list.companyId} among them.`;
      throw new SvcError('bad_input', text, {
        hint: 'It moved between them. Export both companies in one part, to read where it is now.',
      });
    }
    return next;
  };
}

function copyCompanies(db: Db): void {
  const names = columnsOf(db, 'stream').join(', ');
  const isList = "generation = 'v4' AND company_id IS NULL";
  db.transaction(() => {
    db.exec(`INSERT INTO main.v4_company SELECT * FROM part.v4_company;
      INSERT INTO main.stream(${names}) SELECT ${names} FROM part.stream WHERE ${isList};
      UPDATE main.stream SET checksum = ${checksumOf('stream')} WHERE ${isList}`);
    sealV4Companies(db);
  })();
}

/** The columns of a table except its own id, and its checksum, which is computed again. */
function columnsOf(db: Db, table: string): string[] {
  const names = db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table);
  return names.filter((name) => name !== 'id' && name !== 'checksum');
}
