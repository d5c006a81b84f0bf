import type { AmbiguousCompany } from '../text/ambiguous-company.js';
import * as z from '../zod.js';
import { listAmbiguousCompanies } from './findings.js';
import type { Db } from './open.js';
import type { Scope } from './remap.js';

const noteSchema = z
  .array(z.object({ v4_company_id: z.string(), comparable_keys: z.number(), agreeing_keys: z.number() }))
  .catch([]);

/** The ambiguous V3 companies of the last remap. */
export function readAmbiguousCompanies(db: Db, scope: Scope): readonly AmbiguousCompany[] {
  return listAmbiguousCompanies(db, scope).map(({ region, v3CompanyId, note }) => ({
    region,
    v3CompanyId: String(v3CompanyId),
    candidates: noteSchema.parse(JSON.parse(note)).map((one) => ({
      v4CompanyId: one.v4_company_id,
      comparableKeys: one.comparable_keys,
      agreeingKeys: one.agreeing_keys,
    })),
  }));
}
