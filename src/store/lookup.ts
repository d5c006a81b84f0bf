import type { Generation } from '../domain.js';
import type { Status } from '../reasons.js';
import type { Db } from './sqlite.js';

/** Narrows down which record an id refers to; null: any. */
export interface LookupPlace {
  /** '' for records, otherwise the children's field, such as `line_items`. */
  readonly path: string;
  readonly region: string | null;
  /** A company of the generation of the id. */
  readonly companyId: bigint | null;
}

/** The result of looking up an id; the other id is null if there is none or it is ambiguous. */
export interface Answer {
  readonly v3Id: bigint | null;
  readonly v4Id: bigint | null;
  /** `unknown`: the exports do not hold this id. */
  readonly status: Status | 'unknown';
  /** `several_records`: rows of several regions, companies or parents have this id and disagree. */
  readonly reason: string | null;
  readonly region: string | null;
  readonly v3CompanyId: bigint | null;
  readonly v4CompanyId: bigint | null;
}

export type Lookup = (from: Generation, model: string, id: bigint, place: LookupPlace) => Answer;

type Row = Answer & { readonly status: Status };

/** Prepares look-ups in the current remap. */
export function prepareLookup(db: Db): Lookup {
  const queries = {
    v3: db.prepare<[object], Row>(queryBy('v3_svc_id', 'v3_company_id')),
    v4: db.prepare<[object], Row>(queryBy('v4_svc_id', 'v4_company_id')),
  };
  return (from, model, id, { path, region, companyId }) => {
    const rows = queries[from].all({ model, id, path, region, companyId });
    return answerFrom(from === 'v3' ? { v3Id: id, v4Id: null } : { v3Id: null, v4Id: id }, rows);
  };
}

function queryBy(id: string, company: string): string {
  return `
    select v3_svc_id as v3Id, v4_svc_id as v4Id, status, reason, region, v3_company_id as v3CompanyId,
      v4_company_id as v4CompanyId
    from remap_entry
    where ${id} = @id and model = @model and path = @path
      and (@region is null or region = @region) and (@companyId is null or ${company} = @companyId)
    order by id`;
}

const NOWHERE = { region: null, v3CompanyId: null, v4CompanyId: null };

/** @param lookedUp the id that was looked up; the other one is null */
function answerFrom(lookedUp: Pick<Answer, 'v3Id' | 'v4Id'>, [first, ...others]: readonly Row[]): Answer {
  if (first === undefined) return { ...lookedUp, status: 'unknown', reason: null, ...NOWHERE };
  const agree = others.every(
    (row) =>
      row.status === first.status &&
      row.reason === first.reason &&
      row.v3Id === first.v3Id &&
      row.v4Id === first.v4Id,
  );
  if (!agree) return { ...lookedUp, status: 'ambiguous', reason: 'several_records', ...NOWHERE };
  return others.length > 0 ? { ...first, ...NOWHERE } : first;
}
