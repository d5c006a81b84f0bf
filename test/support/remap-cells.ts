/** The columns of the public view `remap`. */
export const CONTRACT_COLUMNS = [
  'model',
  'path',
  'region',
  'v3_company_id',
  'v4_company_id',
  'platform_id',
  'parent_platform_id',
  'v3_svc_id',
  'v4_svc_id',
  'status',
  'reason',
  'matched_by',
  'evidence',
] as const;

export type RemapCells = Readonly<Record<(typeof CONTRACT_COLUMNS)[number], string | bigint | null>>;
