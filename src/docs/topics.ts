import { readFileSync } from 'node:fs';

/** A page of the reference, printed by `help` and linked from the README. */
export interface Topic {
  /** The page is `NAME.md` in this folder. */
  readonly name: string;
  readonly summary: string;
}

/** Every page, in the order of the index. */
export const TOPICS: readonly Topic[] = [
  { name: 'start', summary: 'the usual migration from beginning to end: read this first' },
  { name: 'commands', summary: 'every command with its options and examples' },
  { name: 'config', summary: 'the configuration file, every setting, limits, companies.csv' },
  { name: 'exit-codes', summary: 'what each exit code means' },
  { name: 'reasons', summary: 'every status and reason, and what to do about it' },
  { name: 'decisions', summary: 'decisions.csv: settle by hand what the data cannot' },
  { name: 'report', summary: 'the report in each format' },
  { name: 'doctor', summary: 'what doctor checks, and its JSON' },
  { name: 'database', summary: 'public tables, with queries' },
  { name: 'library', summary: 'look ids up from your own program' },
  { name: 'apply', summary: 'rewrite the ids in your own tables and files, and undo it' },
  { name: 'cutover', summary: 'the commands of the day of the cutover, and the way back' },
  { name: 'warehouses', summary: 'the remap as a Parquet file, and how a warehouse joins it' },
  { name: 'scan', summary: 'find what still uses V3 in your code' },
  { name: 'ci', summary: 'workflows for GitHub Actions and GitLab CI' },
  { name: 'guarantees', summary: 'what is promised and tested, and what no report can prove' },
  { name: 'speed', summary: 'measured speed and memory' },
];

/** The Markdown of a page; null if there is no such topic. */
export function readTopic(name: string): string | null {
  if (!TOPICS.some((topic) => topic.name === name)) return null;
  return readFileSync(new URL(`../docs/${name}.md`, import.meta.url), 'utf8');
}
