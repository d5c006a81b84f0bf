import { describe, expect, it } from 'vitest';
import { COMMANDS, renderOverview } from '../../src/commands/catalogue/all.js';
import { renderTopic } from '../../src/commands/help.js';
import { readTopic, TOPICS } from '../../src/docs/topics.js';
import { displayWidth } from '../../src/text/text-layout.js';
import { makeFolder, runCli } from './run-cli.js';

describe('a page of the reference on a terminal', () => {
  it.each([
    ['a title', '# Exit codes', 'EXIT CODES'],
    ['another heading', '## Limits', 'Limits'],
    ['a paragraph', 'one two three four five\nsix **seven**', '  one two three four\n  five six seven'],
    [
      'a list',
      '- one two three four five\n  six\n- seven',
      '  - one two three four\n    five six\n  - seven',
    ],
    ['steps', '1. one two three four five\n2. six', '  1. one two three\n     four five\n  2. six'],
    ['code', '```sh\na long command that is not wrapped\n```', '    a long command that is not wrapped'],
    ['code with a blank line', '```sh\na\n\nb\n```', '    a\n\n    b'],
    ['a narrow table', '| a | b |\n| --- | --- |\n| 1 | x \\| y |', '  a  b\n  1  x | y'],
    [
      'a table whose last column is wide',
      '| code | meaning |\n| --- | --- |\n| 0 | done and the gate passed |\n| 1 | no |',
      '  code  meaning\n  0     done and the\n        gate passed\n  1     no',
    ],
    [
      'a wide table',
      '| setting | default | meaning |\n| --- | --- | --- |\n| `db` |  | &lt;file> of all |\n| a | 1 | b |',
      '  `db`\n      meaning: <file>\n      of all\n\n  a\n      default: 1\n      meaning: b',
    ],
    [
      'a wide table of numbers, each with its title',
      '| Records | Export | Remap |\n| --- | --- | --- |\n| 1,000 | 1 second | 2 seconds |',
      '  Records: 1,000\n      Export: 1 second\n      Remap: 2 seconds',
    ],
    ['a link to a page', 'see [x](config.md#limits)', '  see x (`svc-migrate\n  help config`)'],
    ['a link within the page', 'see [below](#limits)', '  see below'],
    ['comments', '<!-- a: b -->\n\nx\n\n<!-- /a -->', '  x'],
    ['control characters', 'a\u001b[2Jb', '  a\\u001b[2Jb'],
  ])('shows %s', (_, markdown, text) => {
    expect(renderTopic(markdown, 22)).toBe(`${text}\n`);
  });

  it.each(TOPICS)('shows all of $name within the width', ({ name }) => {
    const page = readTopic(name) ?? '';
    const shown = renderTopic(page, 500);
    const words = (text: string) => new Set(text.match(/[A-Za-z_]{4,}/g));
    const lost = [...words(page.replace(/<!--[\s\S]*?-->|^\|(?: --- \|)+$|```.*|\]\([^)]*\)/gm, ''))];
    // Titles are in capitals; tables that do not fit have no row of titles.
    const kept = words(`${shown} ${shown.toLowerCase()}`);
    const titles = words((page.match(/^\|.*(?=\n\| ---)|^# .*/gm) ?? []).join(' '));
    expect(lost.filter((word) => !kept.has(word) && !titles.has(word))).toEqual([]);
    const wide = renderTopic(page, 60)
      .split('\n')
      .filter((line) => !line.startsWith('    ') && displayWidth(line) > 60);
    expect(wide).toEqual([]);
  });
});

describe('code on a help page', () => {
  const page = (code: string) => `\`\`\`sh\n${code}\n\`\`\``;
  it.each([
    ['keeps a comment that fits', 'run x   # why', '    run x   # why\n'],
    [
      'moves a comment that does not fit above its line',
      'run --all x  # why',
      '    # why\n    run --all x\n',
    ],
    ['is not wrapped', 'run --all --of --this', '    run --all --of --this\n'],
  ])('%s', (_, code, text) => {
    expect(renderTopic(page(code), 18)).toBe(text);
  });
});

describe('help', () => {
  const cwd = makeFolder();

  it('prints every topic', async () => {
    const answers = await Promise.all(TOPICS.map(({ name }) => runCli(['help', name], { cwd })));
    expect(answers.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
      TOPICS.map(() => ({ code: 0, stderr: '' })),
    );
    for (const [at, { name }] of TOPICS.entries()) {
      expect(answers[at]?.stdout).toContain(renderTopic(readTopic(name) ?? '', 100));
    }
  });

  it('fits a pager on a narrow terminal, and so do errors', async () => {
    const pages = [
      ['help', 'exit-codes'],
      ['apply', 'write', '--help'],
      ['explain', '--no-such-option-of-this-command'],
    ];
    for (const words of pages) {
      const { stdout, stderr } = await runCli(words, { cwd, columns: 80 });
      const lines = `${stdout}${stderr}`.split('\n').filter((line) => !line.includes('  svc-migrate '));
      expect(lines.filter((line) => displayWidth(line) > 80)).toEqual([]);
    }
  });

  it.each(TOPICS)('fits topic $name into 80 columns, with its code', ({ name }) => {
    const lines = renderTopic(readTopic(name) ?? '', 80).split('\n');
    expect(lines.filter((line) => displayWidth(line) > 80)).toEqual([]);
  });

  it('lists commands and topics', async () => {
    const { code, stdout } = await runCli(['help'], { cwd, env: { COLUMNS: '80' } });
    expect(code).toBe(0);
    expect(stdout.split('\n').filter((line) => displayWidth(line) > 80)).toEqual([]);
    expect(stdout).toContain(renderOverview());
    for (const { name, summary } of TOPICS) expect(stdout).toMatch(new RegExp(`\n  ${name} +${summary}\n`));
  });

  it('shows every command on one screen, and so does the program alone', async () => {
    const [alone, option] = await Promise.all([runCli([], { cwd }), runCli(['--help'], { cwd })]);
    expect(alone).toEqual({ code: 0, stdout: option.stdout, stderr: '' });
    const lines = option.stdout.trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(lines.filter((line) => displayWidth(line) > 80)).toEqual([]);
    for (const { name } of COMMANDS) expect(option.stdout).toMatch(new RegExp(` ${name.split(' ')[0]}\\b`));
  });

  it.each([
    ['exitcodes', 'Did you mean "exit-codes"?'],
    ['aply', 'Did you mean "apply"?'],
    ['exports', 'Did you mean "export"?'],
    ['../../package', 'Run `svc-migrate help` for the list.'],
  ])('refuses %s with a suggestion', async (topic, hint) => {
    const { code, stdout, stderr } = await runCli(['help', ...topic.split(' ')], { cwd });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`There is no command or topic "${topic}".`);
    expect(stderr).toContain(hint);
  });
});

describe('text that does not go to a terminal', () => {
  it.each([
    ['', 100],
    ['60', 60],
    ['80', 80],
    ['300', 100],
    ['20', 100],
    ['wide', 100],
  ])('is as wide as COLUMNS says, at most 100 columns: "%s"', async (columns, width) => {
    const { stdout } = await runCli(['help', 'exit-codes'], { cwd: makeFolder(), env: { COLUMNS: columns } });
    const widest = Math.max(...stdout.split('\n').map(displayWidth));
    expect(widest).toSatisfy((found) => found <= width && found > width - 12);
  });
});
