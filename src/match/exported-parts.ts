import { damaged } from '../store/checksum.js';
import type { Db } from '../store/open.js';
import { KeyedRecords } from './keyed-records.js';

/** The exported records of one model and company of a generation. */
export interface ExportedPart {
  readonly generation: 3 | 4;
  /** '' for V4. */
  readonly region: string;
  /** Digits. */
  readonly companyId: string;
  /** Row ids: the first and last of each run of consecutive ones. */
  readonly runs: number[];
  records: number;
  /** Records with a date of the platform's own, and the earliest of these dates in ms. */
  dated: number;
  earliestMs: number;
}

/** Everything that was exported, by where it is. */
export interface ExportedParts {
  readonly find: (
    modelId: number,
    generation: 3 | 4,
    region: string,
    companyId: string,
  ) => ExportedPart | null;
  readonly all: () => Iterable<ExportedPart>;
  /** Records of lists that the configuration does not name. */
  readonly others: ExportedPart;
  readonly keyed: KeyedRecords;
}

/** Rows read at once: nothing can be written while a query is open. */
const CHUNK = 2000;

type Row = readonly [
  id: number,
  stream: number,
  company: string,
  key: string | null,
  fieldDigests: string,
  latestMs: number | null,
  fromPlatform: number,
];

/** Reads where every exported record is, and the keys of the lists that were read in full. */
export function readExportedParts(db: Db, throwIfStopped: () => void): ExportedParts {
  const streams = readScopeStreams(db);
  const parts = new Map<string, ExportedPart>();
  const others = newPart(3, '', '');
  const keyed = new KeyedRecords(db);
  const partOf = (stream: ScopeStream | undefined, companyId: string): ExportedPart => {
    if (stream === undefined) return others;
    const { modelId, generation, region } = stream;
    const name = nameOf(modelId, generation, region, companyId);
    const known = parts.get(name);
    if (known !== undefined) return known;
    const part = newPart(generation, region, companyId);
    parts.set(name, part);
    return part;
  };
  const read = db
    .prepare<[number], Row>(`
      SELECT id, stream_id, CAST(company_id AS TEXT), platform_id, field_digests, latest_ms, latest_from IS 'platform'
        FROM record WHERE id > ? ORDER BY id LIMIT ${CHUNK}`)
    .raw()
    .safeIntegers(false);
  let [ofStream, ofCompany] = [-1, ''];
  let part = others;
  let stream: ScopeStream | undefined;
  for (let last = -Infinity, rows = read.all(last); rows.length > 0; rows = read.all(last)) {
    throwIfStopped();
    for (const [id, streamId, companyId, key, fieldDigests, latestMs, fromPlatform] of rows) {
      // no export writes such an id, and the next one cannot be told from it
      if (!Number.isSafeInteger(id)) throw damaged('A stored record');
      last = id;
      if (streamId !== ofStream || companyId !== ofCompany) {
        [ofStream, ofCompany] = [streamId, companyId];
        stream = streams.get(streamId);
        part = partOf(stream, companyId);
      }
      addRow(part, id);
      if (fromPlatform === 1 && latestMs !== null) {
        part.dated += 1;
        part.earliestMs = Math.min(part.earliestMs, latestMs);
      }
      if (stream?.readInFull !== 1 || key === null) continue;
      keyed.add({ id, modelId: stream.modelId, key, part, fieldDigests });
    }
    if (rows.length < CHUNK) break;
  }
  return {
    find: (modelId, generation, region, companyId) =>
      parts.get(nameOf(modelId, generation, region, companyId)) ?? null,
    all: () => parts.values(),
    others,
    keyed,
  };
}

function newPart(generation: 3 | 4, region: string, companyId: string): ExportedPart {
  return {
    generation,
    region,
    companyId,
    runs: [],
    records: 0,
    dated: 0,
    earliestMs: Number.POSITIVE_INFINITY,
  };
}

function nameOf(modelId: number, generation: 3 | 4, region: string, companyId: string): string {
  return `${modelId} ${generation} ${companyId} ${region}`;
}

function addRow(part: ExportedPart, id: number): void {
  const { runs } = part;
  part.records += 1;
  if (runs.length > 0 && runs[runs.length - 1] === id - 1) runs[runs.length - 1] = id;
  else runs.push(id, id);
}

interface ScopeStream {
  readonly id: number;
  readonly modelId: number;
  readonly generation: 3 | 4;
  readonly region: string;
  readonly readInFull: number;
}

function readScopeStreams(db: Db): ReadonlyMap<number, ScopeStream> {
  const rows = db
    .prepare<[], ScopeStream>(`
      SELECT stream_id AS id, model_id AS modelId, generation, iif(generation = 3, region, '') AS region,
        read_in_full AS readInFull FROM scope_stream`)
    .safeIntegers(false)
    .all();
  return new Map(rows.map((row) => [row.id, row]));
}
