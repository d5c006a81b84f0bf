import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { INVOICES } from '../support/exported.js';
import { givenOf, runNamed } from '../support/given.js';
import { MIXED, newIo, SINCE, withDatabase } from './support.js';

describe('dump', () => {
  it('shows the whole of a small remap', async () => {
    await withDatabase(MIXED, { backfill: SINCE }, async ({ config, folder }) => {
      const file = join(folder, 'remap.csv');
      await runNamed('dump', givenOf(config, { output: file }), newIo());
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(readFileSync(file, 'utf8').split('\r\n').slice(0, 3)).toEqual([
        'model,path,region,v3_company_id,v4_company_id,platform_id,parent_platform_id,v3_svc_id,v4_svc_id,status,reason,matched_by,evidence',
        `${INVOICES},"",default,1,1,a,,1,2,matched,,platform_id,{}`,
        `${INVOICES},line_items,default,1,1,l1,a,11,21,matched,,platform_id,{}`,
      ]);
    });
  });

  it('spells control characters out on a terminal and says so', async () => {
    const things = [{ id: 1, key: '\u001b[31mred\u0007\u202e', facts: 'x=1' }];
    await withDatabase({ v3: things, v4: things }, {}, async ({ config }) => {
      const io = newIo({ isTty: true });
      await runNamed('dump', givenOf(config), io);
      expect(io.stdout.text).not.toMatch(/[\u001b\u0007\u202e]/);
      expect(io.stderr.text).toContain('--output');
    });
  });
});
