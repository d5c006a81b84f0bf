import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeFolder } from './run-cli.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A strict program that uses every export. */
const PROGRAM = `
import { openRemap, SvcError } from 'svc-migrate';
import type { Answer, ErrorCode, EventPaths, IdInput, Remap, Report, TranslatedEvent, Where } from 'svc-migrate';

const remap: Remap = openRemap('svc-migrate.db', { allowIncomplete: true });
const id: IdInput = 1n;
const where: Where = { region: 'default', companyId: 5, path: 'line_items' };
const v4Id: bigint | null = remap.v4Id('crm/stages', id, where);
const answer: Answer = remap.find('crm/stages', '1', { ...where, from: 'v4' });
if (answer.status === 'matched' && v4Id === null) throw new Error('no id');
const paths: EventPaths = { '$.id': 'crm/stages', '$.lines[*].id': { model: 'crm/stages', path: 'line_items' } };
const translated: TranslatedEvent = remap.translateEvent('{"id":1}', paths);
export const ids: readonly (bigint | null)[] = translated.ids.map((found) => found.v4Id);
export const failed = (report: Report): number => report.companies.length + report.exitCode;
export function codeOf(error: unknown): ErrorCode | null {
  return error instanceof SvcError ? error.code : null;
}
// @ts-expect-error: a model has a name
remap.find(5, 1);
`;

describe('the declarations in the package', () => {
  const folder = makeFolder();
  const installed = join(folder, 'node_modules/svc-migrate');

  beforeAll(() => {
    const packed = execFileSync(
      'npm',
      ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder],
      {
        cwd: ROOT,
        encoding: 'utf8',
      },
    );
    mkdirSync(installed, { recursive: true });
    const tarball = join(folder, packed.trim().split('\n').at(-1) ?? '');
    execFileSync('tar', ['xzf', tarball, '-C', installed, '--strip-components=1']);
    // Of what the package depends on, the declarations need only zod.
    symlinkSync(join(ROOT, 'node_modules/zod'), join(folder, 'node_modules/zod'));
  });

  it('are one file', () => {
    const files = readdirSync(installed, { recursive: true, encoding: 'utf8' });
    expect(files.filter((file) => file.endsWith('.d.ts'))).toEqual(['dist/types/index.d.ts']);
    const manual = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')).man;
    expect(manual.map((file: string) => files.includes(file.replace('./', '')))).toEqual([true]);
  });

  it.each(['nodenext', 'bundler'])('compile in a strict program that checks libraries (%s)', (resolution) => {
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'program.ts'), PROGRAM);
    const options = {
      module: resolution === 'bundler' ? 'esnext' : resolution,
      moduleResolution: resolution,
    };
    const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true };
    const compilerOptions = { ...options, ...strict, target: 'es2022', types: [] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }));
    const { stdout, status } = spawnSync(execPath, [join(ROOT, 'node_modules/typescript/bin/tsc')], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect([status, stdout]).toEqual([0, '']);
  });
});
