import { describe, expect, it } from 'vitest';
import { findDisagreement, type PairSide } from '../../src/inspect/verify.js';
import type { StoryRow } from '../../src/store/story-rows.js';

const ROW: StoryRow = {
  id: 1n,
  model: 'accounting/invoices',
  path: '',
  region: 'default',
  v3_company_id: 2n,
  v4_company_id: 5n,
  platform_id: 'k',
  parent_platform_id: null,
  v3_svc_id: 1n,
  v4_svc_id: 9n,
  status: 'matched',
  reason: null,
  matched_by: 'platform_id',
  evidence: '{}',
  parent_v3_svc_id: null,
  parent_v4_svc_id: null,
};

const V3: PairSide = { company_id: '2', platform_id: 'k', platform_unique_id: 'u', deleted: false };
const V4: PairSide = { ...V3, company_id: '5' };

describe('a pair read again', () => {
  it.each<[string, Partial<StoryRow>, Partial<PairSide> | null, Partial<PairSide>, string | null]>([
    ['the same', {}, {}, {}, null],
    ['the same, V3 unread', {}, null, {}, null],
    ['another V4 company', {}, {}, { company_id: '6' }, 'company_differs'],
    ['another V3 company', {}, { company_id: '3' }, {}, 'company_differs'],
    ['another V4 key', {}, {}, { platform_id: 'x' }, 'platform_id_differs'],
    ['another V4 key, V3 unread', {}, null, { platform_id: 'x' }, 'platform_id_differs'],
    ['no V4 key', {}, null, { platform_id: null }, 'platform_id_differs'],
    ['another key on both sides', {}, { platform_id: 'x' }, { platform_id: 'x' }, 'platform_id_changed'],
    ['another unique id, paired by key', {}, {}, { platform_unique_id: 'w' }, null],
    [
      'another unique id, paired by it',
      { matched_by: 'platform_unique_id' },
      {},
      { platform_unique_id: 'w' },
      'unique_id_differs',
    ],
    ['decided, other V4 key', { matched_by: 'decision' }, {}, { platform_id: 'x' }, null],
    [
      'decided, other V3 key since',
      { matched_by: 'decision' },
      { platform_id: 'x' },
      {},
      'platform_id_changed',
    ],
  ])('%s', (_name, row, v3, v4, code) => {
    const left = v3 === null ? null : { ...V3, ...v3 };
    expect(findDisagreement({ ...ROW, ...row }, left, { ...V4, ...v4 })).toBe(code);
  });
});
