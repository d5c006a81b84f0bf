import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeError } from '../../src/text/describe-error.js';
import { createTestApi, failureOf, v4Request } from '../api/support/test-api.js';
import { keysOf, runCli } from '../cli/run-cli.js';
import { makeFastFolder } from '../support/fast-folder.js';
import { startHostileService } from '../support/hostile-service.js';
import { HOSTILE_VALUES } from '../support/hostile-values.js';
import { readStrictHtml } from '../support/strict-html.js';

const MODELS = ['invoices', 'stages', 'payment_items', 'tax_rates', 'orders', 'notes', 'companies', 'infos'];
const COMPANIES = Math.ceil(HOSTILE_VALUES.length / MODELS.length);
const STATUSES = [400, 405, 409, 418, 422] as const;
/** Whatever a terminal may act on or a reader may be led astray by; line feeds are ours. */
const STEERING =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;

it('errors worded by a hostile service reach terminals and reports harmless, one on every list', async () => {
  let refused = 0;
  const service = await startHostileService({
    v4CompanyId: 1n,
    others: Array.from({ length: COMPANIES - 1 }, (_, at) => BigInt(2 + at)),
    texts: ['req-1', 'req-2'],
    lists: { v3: { 'accounting/invoices': [] }, v4: {} },
    refuse: () => {
      const text = JSON.stringify(HOSTILE_VALUES[refused % HOSTILE_VALUES.length]);
      const status = STATUSES[refused % STATUSES.length] ?? 400;
      refused += 1;
      const body = `{"error":{"code":${text},"message":${text}},"request_id":${text},"data":${text}}`;
      return { status, body: refused % 3 === 0 ? (JSON.parse(text) as string) : body };
    },
  });
  const folder = makeFastFolder();
  const speed = { pageSize: 5, requestsPerSecond: 10_000 };
  const config = {
    v3: { regions: { default: { baseUrl: `${service.origin}/v3` } }, ...speed },
    v4: { baseUrl: service.origin, includeDeleted: false, ...speed },
    models: MODELS.map((v4, at) => ({ v3: at === 0 ? 'accounting/invoices' : `crm/${v4}`, v4 })),
  };
  writeFileSync(join(folder, 'svc-migrate.config.json'), JSON.stringify(config));
  const outputs = ['--html', 'a.html', '--junit', 'a.xml', '--markdown', 'a.md', '--ndjson', 'a.ndjson'];
  let bytes = 0;
  try {
    for (const args of [
      ['export', 'v4', '--verbose'],
      ['run', '--json', '-', ...outputs],
      ['status'],
      ['report'],
    ]) {
      const { code, stdout, stderr } = await runCli(args, { cwd: folder, env: keysOf('errors-canary-key') });
      expect([0, 4], `${args.join(' ')}: ${stderr.slice(0, 500)}`).toContain(code);
      for (const text of [stdout, stderr]) expect(STEERING.exec(text)?.index ?? -1).toBe(-1);
      bytes += stdout.length + stderr.length;
    }
    const html = readStrictHtml(readFileSync(join(folder, 'a.html'), 'utf8'));
    expect(html.tags.filter(({ name }) => ['img', 'b'].includes(name))).toEqual([]);
    expect(html.tags.filter(({ name }) => name === 'script')).toHaveLength(2);
    for (const name of ['a.xml', 'a.md']) {
      expect(STEERING.exec(readFileSync(join(folder, name), 'utf8'))?.index ?? -1).toBe(-1);
    }
    const { api, time } = createTestApi({ v4Url: service.origin, http: { attempts: 1 } });
    for (const _ of HOSTILE_VALUES) {
      const told = describeError(await failureOf(time.run(api.fetchPage(v4Request()))), true);
      expect(STEERING.exec(told)?.index ?? -1).toBe(-1);
      expect(told).toMatch(/status 4\d\d/);
      bytes += told.length;
    }
    await api.close();
    expect(refused).toBeGreaterThanOrEqual(3 * HOSTILE_VALUES.length);
    process.stdout.write(`${refused} hostile errors, ${bytes} bytes printed\n`);
  } finally {
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
