import type { Generation } from '../domain.js';
import type { Status } from '../reasons.js';
import type { Db } from './open.js';
import { damagedRemap } from './remap-digest.js';
import { openVerifiedRemap } from './verified-remap.js';

/** Narrows down which record an id refers to; null: any. */
export interface LookupPlace {
  /** '' for records, else the children's field, such as `line_items`. */
  readonly path: string;
  readonly region: string | null;
  /** Of the generation that the id is of. */
  readonly companyId: bigint | null;
}

const SEVERAL_RECORDS = 'several_records';

/** Integers come back as bigint: status, reason, v3 id, v4 id, region, v3 company, v4 company, path. */
type Row = readonly [
  Status,
  string | null,
  bigint | null,
  bigint | null,
  string | null,
  bigint | null,
  bigint | null,
  string,
];

/** Looks up one id of a model. */
export type Lookup = (
  from: Generation,
  model: string,
  id: bigint,
  place: LookupPlace,
) => Omit<Answer, 'stale'>;

/**
 * Makes the look-up function. It throws `corrupt_database` if the remap was altered or damaged. Rows that disagree give
 * `ambiguous`.
 */
export function prepareLookup(db: Db): Lookup {
  const remap = openVerifiedRemap(db);
  const select = db
    .prepare<[bigint], Row>(
      'SELECT status, reason, v3_svc_id, v4_svc_id, region, v3_company_id, v4_company_id, path FROM remap WHERE rowid = ?',
    )
    .raw();
  const read = (at: bigint): Row => {
    const row = select.get(at);
    if (row === undefined) throw damagedRemap('rows');
    return row;
  };
  return (from, model, id, place) => {
    const rows = remap.find(from, model, id).map(read);
    return answerFrom(
      from === 'v3' ? { v3Id: id, v4Id: null } : { v3Id: null, v4Id: id },
      rows.filter((row) => isIn(place, from, row)),
    );
  };
}

function isIn({ path, region, companyId }: LookupPlace, from: Generation, row: Row): boolean {
  const [, , , , ofRegion, ofV3Company, ofV4Company, ofPath] = row;
  const ofCompany = from === 'v3' ? ofV3Company : ofV4Company;
  return (
    ofPath === path &&
    (region === null || ofRegion === region) &&
    (companyId === null || ofCompany === companyId)
  );
}

/** Canonical integers only: `007`, `+7` and `7.0` are not ids. */
const ID = /^(?:0|-?[1-9]\d{0,18})$/;

/** Parses an id; null if it is not canonical or exceeds 64 bits. */
export function parseSvcId(text: string): bigint | null {
  if (!ID.test(text)) return null;
  const id = BigInt(text);
  return BigInt.asIntN(64, id) === id ? id : null;
}

type Ids = Pick<Answer, 'v3Id' | 'v4Id'>;

/** `asked`: the id that was looked up, and null for the other one. */
function answerFrom(asked: Ids, rows: readonly Row[]): ReturnType<Lookup> {
  const [first, ...others] = rows;
  if (first === undefined) return { ...asked, status: 'unknown', reason: null, ...NOWHERE };
  const [status, reason, v3Id, v4Id, region, v3CompanyId, v4CompanyId] = first;
  const agree = others.every((row) => row.slice(0, 4).every((value, at) => value === first[at]));
  if (!agree) return { ...asked, status: 'ambiguous', reason: SEVERAL_RECORDS, ...NOWHERE };
  if (others.length > 0) return { v3Id, v4Id, status, reason, ...NOWHERE };
  return { v3Id, v4Id, status, reason, region, v3CompanyId, v4CompanyId };
}

const NOWHERE = { region: null, v3CompanyId: null, v4CompanyId: null };

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
  /** Whether the export has changed since the remap was built that answers. */
  readonly stale: boolean;
}
