/** Places of records are numbered `model * PLACES + V4 company`; a V4 company is in one pair at most. */
export const PLACES = 10_000_000;
