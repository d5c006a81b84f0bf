import type { Db } from '../../src/store/open.js';
import { preparePayloadWriter, prepareReadPayload } from '../../src/store/payloads.js';

/**
 * Stores a payload for each record that `where` selects, a condition on `record` and `stream`. The checksums of the records
 * are left as they are: call `seal` afterwards.
 */
export function storePayloads(
  db: Db,
  payload: string | ((svcId: bigint) => string),
  where = 'TRUE',
  ...params: readonly unknown[]
): void {
  const found = db
    .prepare<unknown[], { id: bigint; svc_id: bigint }>(
      `SELECT record.id, svc_id FROM record JOIN stream ON stream.id = stream_id WHERE ${where} ORDER BY record.id`,
    )
    .all(...params);
  const texts = found.map(({ svc_id }) =>
    Buffer.from(typeof payload === 'string' ? payload : payload(svc_id)),
  );
  const writer = preparePayloadWriter(db, 'full');
  const update = db.prepare('UPDATE record SET payload_block = ? WHERE id = ?');
  for (const [at, block] of writer.begin(texts).entries()) {
    const id = found[at]?.id ?? 0n;
    writer.add(block, Number(id), texts[at] ?? Buffer.of());
    update.run(block, id);
  }
  writer.end();
}

/** The payloads that are stored, in the order of their records. */
export function storedPayloads(db: Db): string[] {
  const ids = db.prepare<[], bigint>('SELECT id FROM record ORDER BY id').pluck().all();
  return ids.map(prepareReadPayload(db)).filter((payload) => payload !== null);
}
