import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { configSchema } from '../src/config/settings.js';
import { TOPICS } from '../src/docs/topics.js';
import { EXIT_BY_CODE } from '../src/errors.js';
import { buildCommands } from '../src/program.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PAGES = [
  'README.md',
  'src/README.md',
  '.github/CONTRIBUTING.md',
  ...readdirSync(join(ROOT, 'src/docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `src/docs/${name}`),
];
const textOf = (page: string) => readFileSync(join(ROOT, page), 'utf8');
const commands = buildCommands(async () => {});

describe('the documentation', () => {
  it('is short', () => {
    const lines = (pages: readonly string[]) =>
      pages.reduce((sum, page) => sum + textOf(page).split('\n').length - 1, 0);
    expect(lines(['README.md'])).toBeLessThanOrEqual(120);
    expect(lines(PAGES)).toBeLessThanOrEqual(900);
  });

  it('has every command in the README, and in `src/docs/start.md` only commands that exist', () => {
    const readme = textOf('README.md');
    const names = commands.map((command) => command.name());
    expect(names.filter((name) => !readme.includes(`| \`${name}\` |`))).toEqual([]);
    const listed = [...readme.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect(listed.filter((name) => name !== undefined && !names.includes(name))).toEqual([]);
  });

  it('shows command lines whose commands and options exist', () => {
    const wrong = PAGES.flatMap((page) => findWrongLines(textOf(page)).map((line) => `${page}: ${line}`));
    expect(wrong).toEqual([]);
  });

  it('links to files and headings that exist', () => {
    const links = PAGES.flatMap((page) =>
      [...textOf(page).matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, link = '']) => ({ page, link })),
    );
    expect(links.length).toBeGreaterThan(15);
    expect(links.filter(({ page, link }) => !leadsSomewhere(page, link))).toEqual([]);
  });

  it('has a topic for every page, and names it in the README', () => {
    const files = readdirSync(join(ROOT, 'src/docs')).filter((name) => name.endsWith('.md'));
    expect(TOPICS.map(({ name }) => `${name}.md`).sort()).toEqual(files.sort());
    for (const { name } of TOPICS)
      expect(textOf('README.md')).toContain(`[\`${name}\`](src/docs/${name}.md)`);
  });

  it('describes every setting and every exit code', () => {
    const config = textOf('src/docs/config.md');
    const settings = settingsOf(z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }));
    expect(settings.length).toBeGreaterThan(30);
    expect(settings.filter((name) => !config.includes(`\`${name}\``))).toEqual([]);
    const codes = textOf('src/docs/exit-codes.md');
    for (const code of Object.values(EXIT_BY_CODE)) expect(codes).toMatch(new RegExp(`^\\| ${code}\\b`, 'm'));
  });
});

/** The command lines of a page that no command takes. */
function findWrongLines(text: string): string[] {
  const lines = [
    ...text.matchAll(/(?:^|`|npx )svc-migrate ((?:[a-z][\w-]*)(?: (?!#|→|\\)[^\s`|"]+)*)/gm),
  ].map(([, line = '']) => line);
  return lines.filter((line) => {
    const [name, second, ...words] = line.replace(/[.,;:)]+$/, '').split(' ');
    const command = commands.find((candidate) => candidate.name() === name);
    if (command === undefined) return !['COMMAND', 'help'].includes(String(name));
    const child = command.commands.find((candidate) => candidate.name() === second);
    const options = [...command.options, ...(child?.options ?? [])].map(({ long }) => long);
    const common = ['--config', '--db', '--quiet', '--verbose', '--no-color', '--help'];
    return [second ?? '', ...words]
      .filter((word) => word.startsWith('--'))
      .some((word) => !options.includes(word) && !common.includes(word));
  });
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', heading] = link.split('#');
  const file = path === '' ? page : join(dirname(page), path);
  if (!existsSync(join(ROOT, file))) return false;
  const slugs = [...textOf(file).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
  return heading === undefined || slugs.includes(heading);
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
}

/** Paths of all settings but the names of limits and the members of targets. */
function settingsOf(schema: unknown, path = ''): string[] {
  const { properties = {}, additionalProperties } = schema as Schema;
  const isMap = typeof additionalProperties === 'object' && additionalProperties.properties !== undefined;
  return [
    ...Object.entries(properties).flatMap(([name, member]) => {
      const place = path === '' ? name : `${path}.${name}`;
      if (name === '$schema') return [];
      if (path === 'limits') return name === 'models' ? [place] : [];
      const inner = settingsOf(member, place);
      return inner.length === 0 ? [place] : inner;
    }),
    ...(isMap ? settingsOf(additionalProperties, `${path}.NAME`) : []),
  ];
}
