import { PassThrough } from 'node:stream';
import { ByteWriter, parquetWriteRows } from 'hyparquet-writer';
import { readVersion } from '../runtime/version.js';
import { REMAP_COLUMNS, type RemapRow, type RemapRun } from '../store/remap.js';
import { csvCell, escapeJson, escapeLines } from '../text/escape.js';

/** RFC 4180 with a header; null is an empty cell, an empty text is `""`. */
export function* renderCsv(rows: Iterable<RemapRow>): Generator<string> {
  yield `${REMAP_COLUMNS.join(',')}\r\n`;
  for (const row of rows) yield `${REMAP_COLUMNS.map((column) => cellOf(row[column])).join(',')}\r\n`;
}

function cellOf(value: string | bigint | null): string {
  if (value === null) return '';
  return value === '' ? '""' : csvCell(String(value));
}

/** One JSON object per row. Numbers in the evidence keep their digits. */
export function* renderNdjson(rows: Iterable<RemapRow>): Generator<string> {
  for (const { evidence, ...row } of rows) {
    const head = JSON.stringify(row, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    yield `${escapeJson(`${head.slice(0, -1)},"evidence":${evidence}}`)}\n`;
  }
}

/** Spells out control characters, which a terminal would interpret; line ends stay. */
export function* spellUnseen(chunks: Iterable<string>): Generator<string> {
  for (const chunk of chunks) yield escapeLines(chunk.replaceAll('\r\n', '\n'));
}

/** Rows in memory at once; 50,000 took 320 MiB. Readers read row groups in parallel. */
const ROWS_PER_GROUP = 10_000;
const INTEGERS: readonly string[] = ['v3_company_id', 'v4_company_id', 'v3_svc_id', 'v4_svc_id'];
const REQUIRED: readonly string[] = ['model', 'path', 'status', 'evidence'];

const COLUMNS = REMAP_COLUMNS.map((name) => ({
  name,
  type: INTEGERS.includes(name) ? ('INT64' as const) : ('STRING' as const),
  nullable: !REQUIRED.includes(name),
}));

/** A Parquet file, a row group at a time; its footer names the remap. */
export async function* renderParquet(
  rows: Iterable<RemapRow>,
  { builtAt, sha256, isComplete }: RemapRun,
): AsyncGenerator<Uint8Array> {
  const stream = new PassThrough();
  const writer = new ByteWriter();
  const send = (): Promise<void> => {
    const bytes = writer.getBytes().slice();
    writer.index = 0;
    return new Promise((done, fail) => {
      stream.write(bytes, (error) => (error ? fail(error) : done()));
    });
  };
  const kvMetadata = [
    { key: 'svc_migrate.built_at', value: builtAt },
    { key: 'svc_migrate.remap_sha256', value: sha256 },
    { key: 'svc_migrate.is_complete', value: String(isComplete) },
  ];
  const options = { columns: COLUMNS, rowGroupSize: ROWS_PER_GROUP, kvMetadata };
  const write = async () => {
    await parquetWriteRows({
      writer: Object.assign(writer, { flush: send }),
      rows,
      createdBy: `svc-migrate ${readVersion()}`,
      ...options,
    });
    await send();
  };
  const written = write().then(
    () => void stream.end(),
    (error: Error) => void stream.destroy(error),
  );
  try {
    yield* stream;
  } finally {
    stream.destroy();
    await written;
  }
}
