import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const CLI = fileURLToPath(new URL('../../bin/svc-migrate.js', import.meta.url));
const HOOK = new URL('usage-hook.mjs', import.meta.url).href;

export const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** What the numbers were measured on. */
export function describeMachine() {
  const [cpu] = cpus();
  return `${new Date().toISOString().slice(0, 10)}, ${cpus().length} × ${cpu.model.trim()}, Node ${process.versions.node}`;
}

/** A folder that goes when `work` is done. */
export async function inFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-migrate-bench-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs another program under GNU time: the same figures. */
export async function measureProgram(program, args, { env = {} } = {}) {
  return await inFolder(async (folder) => {
    const file = join(folder, 'usage.txt');
    const started = performance.now();
    const child = spawn('time', ['--format', '%U %S %M', '--output', file, program, ...args], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}`);
    const [user, system, kibibytes] = readFileSync(file, 'utf8').trim().split(' ').map(Number);
    const seconds = (performance.now() - started) / 1000;
    return { seconds, cpuSeconds: user + system, peakMiB: kibibytes / 1024 };
  });
}

/** Runs a Node process to its end: wall and CPU seconds, peak MiB, stdout. Any exit code but those named is an error. */
export async function measure(args, { env = {}, input, codes = [0] } = {}) {
  return await inFolder(async (folder) => {
    const file = join(folder, 'usage.json');
    const started = performance.now();
    const child = spawn(process.execPath, ['--import', HOOK, ...args], {
      env: { ...process.env, ...env, BENCH_USAGE: file },
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'inherit'],
    });
    if (input !== undefined) child.stdin.end(input);
    const chunks = [];
    let bytes = 0;
    child.stdout.on('data', (chunk) => {
      bytes += chunk.length;
      if (bytes < 1_000_000) chunks.push(chunk);
    });
    const [code] = await once(child, 'close');
    const seconds = (performance.now() - started) / 1000;
    const output = Buffer.concat(chunks).toString('utf8');
    if (!codes.includes(code)) throw new Error(`${args.join(' ')} ended with ${code}: ${output}`);
    return { seconds, output, ...JSON.parse(readFileSync(file, 'utf8')) };
  });
}

/** CPU seconds of a process, its children, and those that ended. */
export function treeCpu(pid) {
  let ticks = 0;
  for (const id of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    // the name of the program, in brackets, may contain spaces
    const [, parent, ...rest] = readStat(id).split(') ').at(-1)?.split(' ') ?? [];
    if (Number(id) !== pid && Number(parent) !== pid) continue;
    ticks += rest.slice(9, 13).reduce((sum, one) => sum + Number(one), 0);
  }
  return ticks / TICKS_PER_SECOND;
}

const TICKS_PER_SECOND = 100;

function readStat(id) {
  try {
    return readFileSync(`/proc/${id}/stat`, 'utf8');
  } catch {
    return '';
  }
}

/** A service in a process of its own while `work`, which is given its port, runs. */
export async function withService(settings, work, script = 'service.mjs') {
  const service = spawn(process.execPath, [here(script), JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [port] = await once(createInterface({ input: service.stdout }), 'line');
  try {
    return await work(port);
  } finally {
    service.kill();
  }
}

/** Runs the contestants in turn, `rounds` times: `name → results`. Side by side, other load hits all of them. */
export async function interleave(rounds, contestants) {
  const results = new Map(contestants.map(([name]) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of contestants) results.get(name).push(await run());
  }
  return results;
}

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export const medianOf = (results, name) => median(results.map((one) => one[name]));

export const print = (line) => process.stdout.write(`${line}\n`);

/** A bar and whether it was reached. */
export function printBar(what, actual, bar, unit = '') {
  const atLeast = bar > 0;
  const reached = atLeast ? actual >= bar : actual <= -bar;
  print(
    `    ${reached ? 'reached' : 'MISSED '} ${what}: ${actual.toFixed(2)}${unit} (bar: ${atLeast ? '≥' : '≤'} ${Math.abs(bar)}${unit})`,
  );
}
