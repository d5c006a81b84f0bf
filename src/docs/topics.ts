import { readFileSync } from 'node:fs';

/** A page of the reference, printed by `help` and linked from the README. */
export interface Topic {
  /** The page is `NAME.md` in this folder. */
  readonly name: string;
  readonly says: string;
}

/** Every page, in the order of the index. */
export const TOPICS: readonly Topic[] = [
  { name: 'commands', says: 'every command with its options and examples' },
  { name: 'config', says: 'the configuration file, every setting, limits, companies.csv' },
  { name: 'exit-codes', says: 'what each exit code means' },
  { name: 'reasons', says: 'every status and reason, and what to do about it' },
  { name: 'decisions', says: 'decisions.csv: settle by hand what the data cannot' },
  { name: 'baseline', says: 'accept single findings for a while' },
  { name: 'report', says: 'the report in each format' },
  { name: 'doctor', says: 'what doctor checks, and its JSON' },
  { name: 'database', says: 'public tables, with queries' },
  { name: 'library', says: 'look ids up from your own program' },
  { name: 'apply', says: 'rewrite the ids in your own tables and files, and undo it' },
  { name: 'ci', says: 'workflows for GitHub Actions and GitLab CI' },
  { name: 'guarantees', says: 'what is promised and tested, and what no report can prove' },
  { name: 'speed', says: 'measured speed and memory' },
];

/** The Markdown of a page; null if there is no such topic. */
export function readTopic(name: string): string | null {
  if (!TOPICS.some((topic) => topic.name === name)) return null;
  return readFileSync(new URL(`${name}.md`, import.meta.url), 'utf8');
}
