import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasPty, onTerminal } from './on-terminal.js';
import { openProject } from './project.js';
import { runCli } from './run-cli.js';

const { sandbox, at, cwd } = await openProject(
  { seed: 4, scale: 600, latencyMs: 60 },
  (one) => ({ ...one.config(), v3: { ...Object(one.config()['v3']), pageSize: 10, concurrency: 4 } }),
  'c.json',
);

/** Runs a command; types Ctrl-C once `stopAt` was drawn. Returns what was drawn, line by line. */
async function linesOf(command: string, stopAt: RegExp | null = null): Promise<string[]> {
  const typed = stopAt === null ? [] : [{ at: stopAt, text: '\u0003' }];
  const { text } = await onTerminal(command, at, typed);
  return text.split(/[\r\n]+|(?=[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏])/);
}

/** Filled cells of each bar that was drawn for a stage. */
function barsOf(lines: readonly string[], stage: string): number[] {
  return lines.flatMap((line) => {
    const bar = /(?=[█░]{20} export)(█*)/.exec(line);
    return bar !== null && line.includes(stage) ? [bar[1]?.length ?? 0] : [];
  });
}

describe.runIf(hasPty)('on a real terminal', () => {
  it('sandbox prints lines to copy', async () => {
    const text = (await linesOf('sandbox --config-out s.json', /--config s\.json/)).join('\n');
    expect(text).toMatch(/Preparing a sandbox with its records …\nThe sandbox is ready \(seed 1, clean\)/);
    expect(text).toMatch(
      /\n {2}export SVC_MIGRATE_V3_API_KEY=sandbox-\S+\n {2}export SVC_MIGRATE_V4_API_KEY=sandbox-\S+\n/,
    );
  });

  it('doctor keeps to 80 columns', async () => {
    const config = sandbox.config();
    const models = [{ v3: 'accounting/invoices', v4: 'invoice' }];
    writeFileSync(join(cwd, 'bad.json'), JSON.stringify({ ...config, models }));
    const lines = await linesOf('doctor --quiet --config bad.json');
    expect(lines.join('\n')).toMatch(/\nTo fix:\n {2}1\. {4}V4 knows no model "invoice"/);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.filter((line) => line.length > 60).length).toBeGreaterThan(2);
  });

  it('an error keeps to 80 columns, and stays on its lines elsewhere', async () => {
    const config = { ...sandbox.config(), v4: { ...Object(sandbox.config()['v4']), apiKeyEnv: 'OTHER' } };
    writeFileSync(join(cwd, 'key.json'), JSON.stringify(config));
    const env = { ...at.env, OTHER: 'wrong' };
    const command = ['export', 'v4', '--quiet', '--config', 'key.json'];
    const { text } = await onTerminal(command.join(' '), { cwd, env });
    const lines = text.trimEnd().split(/\r?\n/);
    const shown = lines.slice(lines.findIndex((line) => line.startsWith('svc-migrate: ')));
    expect(shown.filter((line) => line.length > 80)).toEqual([]);
    const piped = (await runCli(command, { cwd, env })).stderr.trimEnd().split('\n');
    const unwrapped = (all: readonly string[]) =>
      all
        .join(' ')
        .replace(/req_\w+/g, '')
        .replace(/\s+/g, ' ');
    expect([piped.length, unwrapped(shown)]).toEqual([3, unwrapped(piped)]);
    expect(shown.length).toBeGreaterThan(3);
  });

  it('bars only grow, and go on after a resume from where they stood', async () => {
    const stopped = barsOf(await linesOf('export v3 --config c.json', /█{3}/), 'export v3');
    const lines = await linesOf('run --config c.json');
    const resumed = barsOf(lines, 'export v3');
    const v4 = barsOf(lines, 'export v4');
    for (const bars of [stopped, resumed, v4]) expect(bars).toEqual(bars.toSorted((a, b) => a - b));
    const [last = 0, first = 0] = [stopped.at(-1), resumed[0]];
    expect(last).toBeGreaterThan(0);
    expect(first).toBeGreaterThanOrEqual(last - 1);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(160);
    expect(lines.join('\n')).toContain('Next: svc-migrate verify --config c.json');
  });

  it('waiting for the backfill says what it sees', async () => {
    const lines = await linesOf('export v4 --wait --settle 2s --wait-timeout 20s --config c.json');
    expect(lines.join('\n')).toMatch(/counting the lists \d+ of \d+/);
    expect(lines.join('\n')).toMatch(/backfill · [\d,]+ records \(\+0\) · quiet \S+ s of 2 s · ≤ \d+ s left/);
  });
});
