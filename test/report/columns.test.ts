import { describe, expect, it } from 'vitest';
import { renderMarkdown } from '../../src/report/render-markdown.js';
import { renderText } from '../../src/report/render-text.js';
import type { Report } from '../../src/report/report-schema.js';
import type { Exported } from '../support/exported.js';
import { withDatabase } from './support.js';

/** Rows without a V3 id of every status that there is: deleted, ambiguous and only in V4. */
const TWICE: Exported = {
  v3: [
    { id: 1, key: 'a', kids: [{ id: 11, key: 'l1' }] },
    { id: 2, key: 'b' },
    { id: 3, key: 'c', deleted: true },
    { id: 4, key: 'd' },
  ],
  v4: [
    { id: 2, key: 'a', kids: [{ id: 21, key: 'l2' }] },
    { id: 3, key: 'b' },
    { id: 4, key: 'b' },
    { id: 5, key: 'e', deleted: true },
    { id: 6, key: 'f' },
  ],
};

const reportOn = (exported: Exported): Promise<Report> =>
  withDatabase(exported, {}, ({ report }) => report());

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((all, n) => all + n, 0);
}

/** Rows of the table whose header begins with `first`, cells as text. */
function rowsUnder(text: string, first: string, separator: RegExp): string[][] {
  const lines = text.split('\n').map((line) => line.trim());
  const head = lines.findIndex((line) => line.replace(/^\| /, '').startsWith(first));
  const end = lines.findIndex((line, at) => at > head && line === '');
  return lines
    .slice(head + 1, end)
    .filter((line) => !line.startsWith('| ---'))
    .map((line) =>
      line
        .replace(/^\||\|$/g, '')
        .split(separator)
        .map((cell) => cell.trim()),
    );
}

const numbersIn = (cells: readonly string[]) =>
  cells.filter((cell) => /^[\d,]+$/.test(cell)).map((cell) => Number(cell.replaceAll(',', '')));

describe('columns add up', () => {
  it('in the tables of models and companies: V3 ids are the sum of their statuses, V4 stands apart', async () => {
    const report = await reportOn(TWICE);
    expect(report.totals.byStatus.ambiguous).toBeGreaterThan(report.totals.v3ByStatus.ambiguous);
    for (const counts of [report.totals, ...report.models, ...report.companies]) {
      expect(sum(counts.v3ByStatus)).toBe(counts.v3Records + counts.v3Children);
    }
    const tables = [
      rowsUnder(renderText(report, { width: 120, color: false }), 'Model', / {2,}/),
      rowsUnder([...renderMarkdown(report)].join(''), 'Model', /\|/),
      rowsUnder([...renderMarkdown(report)].join(''), 'Company', /\|/),
    ];
    for (const rows of tables) {
      expect(rows.length).toBeGreaterThan(0);
      for (const row of rows) {
        const [ids, matched = 0, unmatched = 0, deleted = 0, ambiguous = 0, v4Only] = numbersIn(row);
        expect(matched + unmatched + deleted + ambiguous).toBe(ids);
        expect(v4Only).toBe(sum(report.totals.byStatus) - sum(report.totals.v3ByStatus));
      }
    }
  });
});
