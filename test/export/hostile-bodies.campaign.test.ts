import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { compileChild } from '../support/compile-child.js';
import { makeFastFolder } from '../support/fast-folder.js';
import { serveHttp } from '../support/serve-http.js';

/** The default. */
const MAX_BODY_MIB = 32;
const BYTES = MAX_BODY_MIB * 2 ** 20 - 100;
const script = await compileChild('test/export/peak-child.ts');

/** As many items as fit a body. */
function page(item: (at: number) => string): string {
  const items: string[] = [];
  let length = 0;
  for (let at = 1; ; at++) {
    const next = item(at);
    length += next.length + 1;
    if (length > BYTES) return `{"data":[${items.join(',')}],"next":null}`;
    items.push(next);
  }
}

interface Peak {
  readonly peakMiB: number;
  readonly endReason: string;
  readonly records: number;
}

/** The peak memory of an export whose pages are this body. */
async function exportFrom(body: string): Promise<Peak> {
  const folder = makeFastFolder();
  const zipped = gzipSync(body, { level: 1 });
  const { origin, close } = await serveHttp((_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(zipped);
  });
  try {
    const args = [script, `${origin}/v3`, join(folder, 'peak.db'), String(MAX_BODY_MIB)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    return JSON.parse(await text(child.stdout));
  } finally {
    await close();
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('an export from a service that sends the largest bodies there may be', () => {
  it.each<[string, (at: number) => string, string]>([
    ['many small records', (at) => `{"svc_id":${at},"svc_company_id":2}`, 'end_of_list'],
    [
      'new member names in every record',
      (at) => `{"svc_id":${at},"svc_company_id":2,"n${at}":1,"m${at}":2}`,
      'body_too_large',
    ],
    ['empty objects', () => '{}', 'body_too_large'],
    [
      'one large platform_id',
      (at) =>
        `{"svc_id":${at},"svc_company_id":2,"platform_id":"${at === 1 ? 'x'.repeat(BYTES - 100) : ''}"}`,
      'end_of_list',
    ],
  ])('takes at most 16 times their size: %s', async (name, item, endReason) => {
    const { peakMiB: usualMiB } = await exportFrom('{"data":[],"next":null}');
    const body = page(item);
    const { peakMiB, ...end } = await exportFrom(body);
    const growthMiB = peakMiB - usualMiB;
    process.stdout.write(`${name}: ${growthMiB.toFixed(0)} MiB for ${MAX_BODY_MIB} MiB\n`);
    const records = endReason === 'end_of_list' ? body.split('{"svc_id"').length - 1 : 0;
    expect(end).toEqual({ endReason, records });
    expect(growthMiB).toBeLessThanOrEqual(16 * MAX_BODY_MIB);
  });
});
