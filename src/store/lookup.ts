import type { Generation } from '../domain.js';
import type { Status } from '../reasons.js';
import type { Db } from './sqlite.js';

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
  /**
   * `several_records`: rows of several regions, companies or parents have this id and disagree. `merged`: several V3 ids
   * became this V4 id.
   */
  readonly reason: string | null;
  readonly region: string | null;
  readonly v3CompanyId: bigint | null;
  readonly v4CompanyId: bigint | null;
  readonly mergedV3Ids: readonly bigint[];
}

export type Lookup = (from: Generation, model: string, id: bigint, place: LookupPlace) => Answer;

interface Row extends Omit<Answer, 'mergedV3Ids'> {
  readonly v4Parent: bigint | null;
}

export function prepareLookup(db: Db): Lookup {
  const queries = {
    v3: db.prepare<[object], Row>(queryBy('v3_svc_id', 'v3_company_id')),
    v4: db.prepare<[object], Row>(queryBy('v4_svc_id', 'v4_company_id')),
  };
  return (from, model, id, { path, region, companyId }) => {
    const rows = queries[from].all({ model, id, path, region, companyId });
    const unknown = { status: 'unknown', reason: null, ...NOWHERE, mergedV3Ids: [] } as const;
    const ids = from === 'v3' ? { v3Id: id, v4Id: null } : { v3Id: null, v4Id: id };
    return answerFrom({ ...unknown, ...ids }, rows);
  };
}

function queryBy(id: string, company: string): string {
  return `
    select v3_svc_id as v3Id, v4_svc_id as v4Id, status, reason, region, v3_company_id as v3CompanyId,
      v4_company_id as v4CompanyId, (select p.v4_svc_id from remap_row as p where p.id = e.parent) as v4Parent
    from remap_entry as e
    where ${id} = @id and model = @model and path = @path
      and (@region is null or region = @region) and (@companyId is null or ${company} = @companyId)
    order by id`;
}

const NOWHERE = { region: null, v3CompanyId: null, v4CompanyId: null };

function answerFrom(unknown: Answer, rows: readonly Row[]): Answer {
  const [first] = rows;
  if (first === undefined) return unknown;
  const agree = (...members: readonly (keyof Row)[]) =>
    rows.every((row) => members.every((member) => row[member] === first[member]));
  const { v4Parent: _, ...answer } = first;
  if (agree('status', 'reason', 'v3Id', 'v4Id')) {
    return { ...answer, ...(rows.length > 1 ? NOWHERE : {}), mergedV3Ids: [] };
  }
  const v3Ids = rows.flatMap(({ v3Id }) => v3Id ?? []);
  const isOneV4Record = agree('v4Id', 'region', 'v4CompanyId', 'v4Parent');
  return isOneV4Record && v3Ids.length === rows.length
    ? { ...answer, v3Id: null, status: 'ambiguous', reason: 'merged', mergedV3Ids: [...new Set(v3Ids)] }
    : { ...unknown, status: 'ambiguous', reason: 'several_records' };
}
