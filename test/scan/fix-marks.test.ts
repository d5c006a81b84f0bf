import { describe, expect, it } from 'vitest';
import { knownCompaniesOf } from '../../src/commands/scan-fix.js';
import { walk } from '../../src/scan/access.js';
import { markCode, markText } from '../../src/scan/fix/add-comments.js';
import { languageOf } from '../../src/scan/languages.js';
import { readSource } from '../../src/scan/source-file.js';
import { SyntaxParser } from '../../src/scan/syntax.js';

const parser = await SyntaxParser.create();

async function mark(path: string, source: string, line: number): Promise<string> {
  const todos = [{ line, text: 'X' }];
  const language = languageOf(path);
  if (language === null) return markText(path, source, todos).text;
  await parser.prepare(language);
  const root = parser.parse(language, source);
  if (typeof root === 'string') throw new Error(root);
  expect(walk(root).some(({ type }) => type === 'ERROR')).toBe(false);
  return markCode(readSource(path, language, source, root), todos, parser).text;
}

const MARKED: readonly (readonly [
  what: string,
  path: string,
  line: number,
  source: string,
  marked: string,
])[] = [
  ['an argument', 'a.ts', 2, 'f(\n  u,\n);\n', 'f(\n  // svc-migrate: X\n  u,\n);\n'],
  [
    'a text of several lines',
    'a.ts',
    2,
    `const q = \`a\n  \${u}\n\`;\n`,
    `// svc-migrate: X\nconst q = \`a\n  \${u}\n\`;\n`,
  ],
  [
    'an element of JSX',
    'a.tsx',
    3,
    'const a = (\n  <p>\n    {u}\n  </p>\n);\n',
    'const a = (\n  // svc-migrate: X\n  <p>\n    {u}\n  </p>\n);\n',
  ],
  [
    'a directive for the next line',
    'a.ts',
    2,
    '// @ts-expect-error\nf(u);\n',
    '// svc-migrate: X\n// @ts-expect-error\nf(u);\n',
  ],
  ['line ends of Windows', 'a.js', 2, 'a();\r\n\tf(u);\r\n', 'a();\r\n\t// svc-migrate: X\r\n\tf(u);\r\n'],
  ['a mark that is there', 'a.py', 2, '# svc-migrate: Y\nf(u)\n', '# svc-migrate: Y\nf(u)\n'],
  [
    'a text of Python',
    'a.py',
    3,
    'def f():\n    q = """a\n      u\n    """\n',
    'def f():\n    # svc-migrate: X\n    q = """a\n      u\n    """\n',
  ],
  ['a text of Ruby', 'a.rb', 2, 'q = <<~A\n  u\nA\n', '# svc-migrate: X\nq = <<~A\n  u\nA\n'],
  ['a command on two lines', 'a.sh', 2, 'curl \\\n  u\n', '# svc-migrate: X\ncurl \\\n  u\n'],
  ['a here-document', 'a.sh', 2, 'cat <<EOF\nu\nEOF\n', 'cat <<EOF\nu\nEOF\n'],
  [
    'after a here-document',
    'a.sh',
    4,
    'cat <<EOF\nx\nEOF\nf u\n',
    'cat <<EOF\nx\nEOF\n# svc-migrate: X\nf u\n',
  ],
  ['a script in YAML', 'a.yml', 2, 'run: |\n  curl u\n', 'run: |\n  # svc-migrate: X\n  curl u\n'],
  ['a text in YAML', 'a.yml', 2, 'body: |\n  u\n', 'body: |\n  u\n'],
  ['a text in SQL', 'a.sql', 2, "select 'a\nu';\n", "select 'a\nu';\n"],
  ['JSON', 'a.json', 1, '{ "u": 1 }\n', '{ "u": 1 }\n'],
];

describe('a comment above a use', () => {
  it.each(MARKED)('%s', async (_what, path, line, source, marked) => {
    expect(await mark(path, source, line)).toBe(marked);
  });
});

describe('what the remap says of companies', () => {
  const config = { v3: { regions: [{ region: 'eu', baseUrl: 'https://eu.example/v3' }] } };
  const row = (
    v3: bigint | null,
    v4: bigint | null,
    matched_by: 'overlap' | 'same_id' | 'ambiguous' | 'none',
  ) => ({
    region: v3 === null ? null : 'eu',
    v3_company_id: v3,
    v4_company_id: v4,
    matched_by,
  });
  it.each([
    [
      'all kept their ids',
      [row(1n, 1n, 'same_id'), row(2n, 2n, 'overlap'), row(null, 9n, 'none')],
      true,
      { 1: '1', 2: '2' },
    ],
    ['one got another id', [row(1n, 1n, 'same_id'), row(2n, 3n, 'overlap')], false, { 1: '1', 2: '3' }],
    ['one is in doubt', [row(1n, 1n, 'same_id'), row(2n, 2n, 'ambiguous')], false, { 1: '1' }],
    ['one is not in V4', [row(1n, 1n, 'same_id'), row(2n, null, 'none')], false, { 1: '1' }],
    ['there is none', [], false, {}],
  ])('%s', (_what, rows, areSame, ids) => {
    const v4Ids = Object.fromEntries(
      Object.entries(ids).map(([v3, v4]) => [`https://eu.example/v3 ${v3}`, v4]),
    );
    expect(knownCompaniesOf(rows, config)).toEqual({ areSame, v4Ids });
  });
});
