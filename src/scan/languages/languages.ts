import type { Language } from './language.js';

const SCRIPT = { kinds: {}, comment: '//', imports: 'relative' } as const;

/** Every language whose syntax is read. Other kinds of text are in `plain-text.ts`. */
export const LANGUAGES: readonly Language[] = [
  { ...SCRIPT, name: 'typescript', extensions: ['.ts', '.mts', '.cts'], grammar: 'typescript' },
  { ...SCRIPT, name: 'typescript', extensions: ['.tsx'], grammar: 'tsx' },
  { ...SCRIPT, name: 'javascript', extensions: ['.js', '.mjs', '.cjs', '.jsx'], grammar: 'javascript' },
  {
    name: 'python',
    extensions: ['.py', '.pyi'],
    grammar: 'python',
    kinds: { attribute: 'member' },
    comment: '#',
    imports: 'dotted',
  },
  {
    name: 'ruby',
    extensions: ['.rb', '.rake', '.gemspec'],
    grammar: 'ruby',
    kinds: { block: 'function' },
    comment: '#',
    imports: 'class',
  },
  { name: 'php', extensions: ['.php'], grammar: 'php', kinds: {}, comment: '//', imports: 'class' },
  { name: 'java', extensions: ['.java'], grammar: 'java', kinds: {}, comment: '//', imports: 'class' },
  { name: 'csharp', extensions: ['.cs'], grammar: 'c-sharp', kinds: {}, comment: '//', imports: 'class' },
  { name: 'go', extensions: ['.go'], grammar: 'go', kinds: {}, comment: '//', imports: 'folder' },
];

/** The language of a file by the end of its name; null if its syntax is not read. */
export function languageOf(file: string): Language | null {
  const name = file.toLowerCase();
  return LANGUAGES.find(({ extensions }) => extensions.some((end) => name.endsWith(end))) ?? null;
}
