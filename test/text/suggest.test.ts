import { expect, it } from 'vitest';
import { suggest } from '../../src/text/suggest.js';

const REASONS = ['outside_backfill_window', 'connection_inert', 'company_ambiguous', 'company_not_in_v4'];

it.each([
  ['outside_backfill', 'outside_backfill_window'],
  ['connection-innert', 'connection_inert'],
  ['company', null],
  ['ou', null],
])('suggests for %s: %s', (word, meant) => expect(suggest(word, REASONS)).toBe(meant));
