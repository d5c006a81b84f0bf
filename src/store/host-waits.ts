import { z } from 'zod';
import { readMeta, writeMeta } from './meta.js';
import type { Db } from './open.js';

/** Waits that hosts asked for, kept for the next process; times in ms since 1970. */
const waitsSchema = z.array(
  z.object({ host: z.string(), askedAtMs: z.number(), untilMs: z.number() }).readonly(),
);
export type StoredWait = z.infer<typeof waitsSchema>[number];

const KEY = 'host_waits';

/** The waits that are not over. */
export function readHostWaits(db: Db, nowMs: number): readonly StoredWait[] {
  const text = readMeta(db, KEY);
  return text === null ? [] : currentWaits(waitsSchema.parse(JSON.parse(text)), nowMs);
}

/** Keeps waits beside those of other hosts that are not over. Call inside a transaction. */
export function saveHostWaits(db: Db, waits: readonly StoredWait[], nowMs: number): void {
  const hosts = new Set(waits.map(({ host }) => host));
  const others = readHostWaits(db, nowMs).filter(({ host }) => !hosts.has(host));
  writeMeta(db, KEY, JSON.stringify([...others, ...currentWaits(waits, nowMs)]));
}

/**
 * The waits that are not over, none longer than what was asked for. One that was asked for in the future tells that the
 * clock was set back since: it begins now.
 */
export function currentWaits(waits: readonly StoredWait[], nowMs: number): readonly StoredWait[] {
  return waits.flatMap((wait) => {
    if (wait.askedAtMs <= nowMs) return wait.untilMs > nowMs ? [wait] : [];
    return [{ ...wait, askedAtMs: nowMs, untilMs: nowMs + wait.untilMs - wait.askedAtMs }];
  });
}
