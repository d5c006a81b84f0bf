import apply from './apply.md';
import ci from './ci.md';
import config from './config.md';
import database from './database.md';
import decisions from './decisions.md';
import exitCodes from './exit-codes.md';
import guarantees from './guarantees.md';
import reasons from './reasons.md';
import report from './report.md';
import scan from './scan.md';
import speed from './speed.md';
import start from './start.md';
import warehouses from './warehouses.md';

/** A page of the manual, printed by `help` and linked from the README. */
export interface Topic {
  readonly name: string;
  readonly summary: string;
  readonly page: string;
}

/** Every page, in the order of the index. */
export const TOPICS: readonly Topic[] = [
  { name: 'start', summary: 'the usual migration from beginning to end: read this first', page: start },
  {
    name: 'config',
    summary: 'the configuration file, limits, companies.csv and decisions.csv',
    page: config,
  },
  { name: 'reasons', summary: 'every status and reason, and what changes the verdict', page: reasons },
  { name: 'report', summary: 'formats and sections of the report, and what is judged', page: report },
  { name: 'decisions', summary: 'decisions.csv: decide by hand what the data cannot', page: decisions },
  { name: 'database', summary: 'public tables of the SQLite file, with queries', page: database },
  { name: 'exit-codes', summary: 'what each exit code means', page: exitCodes },
  { name: 'apply', summary: 'rewrite stored ids: what each step does to a table', page: apply },
  { name: 'scan', summary: 'find what still uses V3 in your code', page: scan },
  { name: 'ci', summary: 'workflows for GitHub Actions and GitLab CI', page: ci },
  {
    name: 'warehouses',
    summary: 'DuckDB, ClickHouse, Spark, BigQuery, Snowflake, pandas, polars',
    page: warehouses,
  },
  { name: 'speed', summary: 'what the stages take, beside scripts', page: speed },
  {
    name: 'guarantees',
    summary: 'what is promised and tested, and what no report can prove',
    page: guarantees,
  },
];

/** The Markdown of a page; null if there is no such topic. */
export function readTopic(name: string): string | null {
  return TOPICS.find((topic) => topic.name === name)?.page ?? null;
}

/** The topics, one a line. */
export function listTopics(): string {
  const width = Math.max(...TOPICS.map(({ name }) => name.length));
  const lines = TOPICS.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}\n`);
  return `Topics (svc-migrate help TOPIC):\n${lines.join('')}`;
}
