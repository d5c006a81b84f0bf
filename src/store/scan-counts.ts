import * as z from '../zod.js';
import { readMeta, writeMeta } from './meta.js';
import type { Db } from './open.js';

const SCAN = 'scan';
const count = z.int().nonnegative();
const scanCountsSchema = z.strictObject({
  scannedAt: z.string(),
  certain: count,
  likely: count,
  look: count,
  filesRead: count,
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
