/**
 * Peak memory of an export, against a sandbox in a process of its own: `npm run bench:memory [records]`.
 * Prints the peak (VmHWM of the exporting process) for 100,000 records and for as many as asked, and their ratio.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../bin/svc-migrate.js', import.meta.url));
const LIMIT_MIB = 200;
const SMALL = 100_000;
const records = Number(process.argv[2] ?? 1_000_000);

const small = await measure(SMALL);
const large = await measure(records);
for (const one of [small, large]) process.stdout.write(`${describe(one)}\n`);
process.stdout.write(`ratio of the peaks: ${(large.peakMiB / small.peakMiB).toFixed(2)}\n`);
if (large.peakMiB > LIMIT_MIB) {
  process.stdout.write(`over ${LIMIT_MIB} MiB\n`);
  process.exitCode = 1;
}

function describe({ stored, seconds, peakMiB, bytes }) {
  const each = Math.round(bytes / stored);
  return `${stored} records (${each} bytes each in the database): peak ${peakMiB.toFixed(0)} MiB, ${seconds.toFixed(0)} s`;
}

async function measure(count) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-migrate-bench-'));
  const config = join(folder, 'svc-migrate.config.json');
  const sandbox = spawn(
    process.execPath,
    [CLI, 'sandbox', '--records', String(count), '--config-out', config],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  try {
    const [line] = await once(createInterface({ input: sandbox.stdout }), 'line');
    const { apiKey } = JSON.parse(line);
    const started = performance.now();
    const { output, peakMiB } = await runExport(config, apiKey);
    const stored = Number(/^V3: ([\d,]+) records/m.exec(output)?.[1]?.replaceAll(',', ''));
    const seconds = (performance.now() - started) / 1000;
    return { stored, seconds, peakMiB, bytes: statSync(join(folder, 'svc-migrate.db')).size };
  } finally {
    sandbox.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runExport(config, apiKey) {
  const env = { ...process.env, SVC_MIGRATE_V3_API_KEY: apiKey, SVC_MIGRATE_V4_API_KEY: apiKey };
  const cli = spawn(process.execPath, [CLI, 'export', 'v3', '--config', config, '--quiet'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  cli.stdout.on('data', (chunk) => {
    output += chunk;
  });
  let peakMiB = 0;
  const timer = setInterval(() => {
    peakMiB = Math.max(peakMiB, readPeakMiB(cli.pid));
  }, 100);
  const [code] = await once(cli, 'close');
  clearInterval(timer);
  if (code !== 0) throw new Error(`the export ended with ${code}`);
  return { output, peakMiB };
}

/** 0 once the process is gone. */
function readPeakMiB(pid) {
  try {
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
