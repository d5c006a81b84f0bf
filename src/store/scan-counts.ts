import * as z from '../zod.js';
import { readMeta, writeMeta } from './meta.js';
import type { Db } from './open.js';

const SCAN = 'scan';
const count = z.int().nonnegative();
const byCertainty = { certain: count, likely: count, look: count };
const scanCountsSchema = z.strictObject({
  scannedAt: z.string(),
  /** Places. */
  ...byCertainty,
  filesRead: count,
  // Earlier versions did not store these.
  filesSkipped: count.nullable().default(null),
  rules: z.array(z.strictObject({ rule: z.string(), title: z.string(), ...byCertainty })).default([]),
});

/** What the last stored scan of source code counted. */
export type ScanCounts = z.output<typeof scanCountsSchema>;

/** Saves the counts in a transaction of its own. */
export function saveScanCounts(db: Db, counts: ScanCounts): void {
  db.transaction(() => writeMeta(db, SCAN, JSON.stringify(counts))).immediate();
}

/** null: no scan was stored. */
export function readScanCounts(db: Db): ScanCounts | null {
  const text = readMeta(db, SCAN);
  return text === null ? null : scanCountsSchema.parse(JSON.parse(text));
}
