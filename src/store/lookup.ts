import type { Status } from '../reasons.js';
import type { Db } from './open.js';
import { damagedRemap } from './remap-digest.js';
import { openVerifiedRemap } from './verified-remap.js';

/** Narrows down which record an id refers to; null: any. */
export interface LookupPlace {
  /** '' for records, else the children's field, such as `line_items`. */
  readonly path: string;
  readonly region: string | null;
  readonly companyId: bigint | null;
}

const SEVERAL_RECORDS = 'several_records';

/** Integers come back as bigint: status, reason, v4 id, region, v3 company, v4 company, path. */
type Row = readonly [
  Status,
  string | null,
  bigint | null,
  string | null,
  bigint | null,
  bigint | null,
  string,
];

/** Looks up one V3 id of a model. */
export type Lookup = (model: string, v3Id: bigint, place: LookupPlace) => Omit<Answer, 'stale'>;

/**
 * Makes the look-up function. It throws `corrupt_database` if the remap was altered or damaged. Rows that disagree give
 * `ambiguous`.
 */
export function prepareLookup(db: Db): Lookup {
  const remap = openVerifiedRemap(db);
  const select = db
    .prepare<[bigint], Row>(
      'SELECT status, reason, v4_svc_id, region, v3_company_id, v4_company_id, path FROM remap WHERE rowid = ?',
    )
    .raw();
  const read = (at: bigint): Row => {
    const row = select.get(at);
    if (row === undefined) throw damagedRemap('rows');
    return row;
  };
  return (model, v3Id, place) => {
    const rows = remap.find('v3', model, v3Id).map(read);
    return answerFrom(
      v3Id,
      rows.filter((row) => isIn(place, row)),
    );
  };
}

function isIn({ path, region, companyId }: LookupPlace, [, , , ofRegion, ofCompany, , ofPath]: Row): boolean {
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

function answerFrom(v3Id: bigint, rows: readonly Row[]): ReturnType<Lookup> {
  const [first, ...others] = rows;
  if (first === undefined) return emptyAnswer(v3Id, 'unknown', null);
  const [status, reason, v4Id, region, v3CompanyId, v4CompanyId] = first;
  const agree = others.every((row) => row[0] === status && row[1] === reason && row[2] === v4Id);
  if (!agree) return emptyAnswer(v3Id, 'ambiguous', SEVERAL_RECORDS);
  if (others.length > 0) return { ...emptyAnswer(v3Id, status, reason), v4Id };
  return { v3Id, v4Id, status, reason, region, v3CompanyId, v4CompanyId };
}

function emptyAnswer(v3Id: bigint, status: Answer['status'], reason: string | null): ReturnType<Lookup> {
  return { v3Id, v4Id: null, status, reason, region: null, v3CompanyId: null, v4CompanyId: null };
}

/** The result of looking up a V3 id. */
export interface Answer {
  readonly v3Id: bigint;
  /** null if there is no V4 id or it is ambiguous. */
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
