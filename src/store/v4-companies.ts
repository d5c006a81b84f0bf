import type { Db } from './open.js';

/** A company that V4 listed. */
export interface ListedCompany {
  readonly companyId: bigint;
  /** As received. */
  readonly raw: Uint8Array;
}

/** Puts a new listing in the place of the last. Call inside a transaction. */
export function saveV4Companies(db: Db, companies: readonly ListedCompany[]): void {
  db.prepare('DELETE FROM v4_company').run();
  const insert = db.prepare('INSERT OR REPLACE INTO v4_company(company_id, body) VALUES (?, ?)');
  for (const { companyId, raw } of companies) insert.run(companyId, Buffer.from(raw).toString('utf8'));
}
