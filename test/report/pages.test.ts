import { describe, expect, it } from 'vitest';
import database from '../../src/docs/database.md';
import reasons from '../../src/docs/reasons.md';
import report from '../../src/docs/report.md';
import { describeOutcome, reasonsOf, STATUSES } from '../../src/reasons.js';
import { reportSchema } from '../../src/report/report-schema.js';
import { openEmptyDatabase } from '../support/empty-database.js';

/** The table of the page, as it should be. */
function reasonTable(): string {
  const rows = STATUSES.flatMap((status) =>
    reasonsOf(status).map((reason) => {
      const { title, meaning, action } = describeOutcome(status, reason);
      return `| ${title} | \`${status}\` / \`${reason}\` | ${meaning} | ${action} |`;
    }),
  );
  return [
    '| reason | status / reason | meaning | what changes the verdict |',
    '| --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}

describe('the pages', () => {
  it('list every reason', () => {
    expect(reasons).toContain(reasonTable());
  });

  it('name every section of the JSON report', () => {
    const named = ['schemaVersion', 'tool', 'generatedAt'];
    for (const section of Object.keys(reportSchema.shape)) {
      if (!named.includes(section)) expect(report).toContain(`\`${section}\``);
    }
  });

  it('show queries that run', () => {
    const db = openEmptyDatabase();
    const blocks = [...database.matchAll(/```sql\n(.*?)```/gs)].flatMap(([, sql = '']) => sql.split(';\n'));
    const queries = blocks.filter((sql) => sql.trim() !== '');
    expect(queries.length).toBe(4);
    for (const sql of queries) expect(db.prepare(sql).all()).toEqual([]);
    db.close();
  });

  it('name the public columns', () => {
    const db = openEmptyDatabase();
    for (const [, table = '', columns = ''] of database.matchAll(/^\| `(\w+)` \|[^|]*\| `([^`]*)` \|$/gm)) {
      expect(() => db.prepare(`select ${columns} from ${table}`).all()).not.toThrow();
    }
    db.close();
  });
});
