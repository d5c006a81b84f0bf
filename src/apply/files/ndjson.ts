import { randomUUID } from 'node:crypto';
import type { NdjsonTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import { must } from '../../text/at.js';
import { parseJsonPath } from '../../text/json-path.js';
import { type JsonIds, rewriteJson } from '../json-ids.js';
import type { FileFormat, RewriteCell } from './file-format.js';

const BOM = '\u00ef\u00bb\u00bf';
/** Stands for a value that becomes null, whether it was a number or a string. */
const GAP = `gap-${randomUUID()}`;

export function openNdjson(target: NdjsonTarget, head: string): FileFormat {
  const parse = (path: string | undefined) =>
    path === undefined ? null : must(parseJsonPath(path), 'JSON path');
  const paths = target.ids.map(({ column, modelColumn, regionColumn }) => ({
    path: must(parse(column), 'JSON path'),
    model: parse(modelColumn),
    region: parse(regionColumn),
  }));
  return {
    dataStart: head.startsWith(BOM) ? BOM.length : 0,
    split: (text, start, isLast) => {
      const end = text.indexOf('\n', start);
      return end >= 0 ? end + 1 : isLast ? text.length : null;
    },
    rewrite: (record, row, rewriteCell, onNothing = () => {}) => {
      const [, body = '', end = ''] = /^(.*?)(\r?\n?)$/s.exec(record) ?? [];
      if (body.trim() === '') return record;
      const ids = paths.map((path, index): JsonIds => ({ ...path, judge: buildJudge(index, rewriteCell) }));
      const bytes = Buffer.from(body, 'latin1');
      const document = bytes.toString('utf8');
      const json = rewriteJson(document, ids, { model: null, region: null });
      const text = json?.text;
      if (typeof text !== 'string' || json?.verdicts.some(({ reason }) => reason === 'unknown/not_a_value')) {
        throw new SvcError(
          'bad_input',
          `${target.file}: line ${row} is not JSON, or has something else than an id at the path.`,
          {
            hint: 'Repair the line, or correct the path of the ids.',
          },
        );
      }
      for (const index of json?.nothingAt ?? []) onNothing(index, document);
      const filled = text.replaceAll(`"${GAP}"`, 'null').replaceAll(GAP, 'null');
      return Buffer.from(filled, 'utf8').toString('latin1') + end;
    },
  };
}

/** '' stands for null, which stays. */
function buildJudge(index: number, rewriteCell: RewriteCell): JsonIds['judge'] {
  return (value, scope) => {
    const result = rewriteCell(index, value, scope);
    if (value === '' || result === null) return { new: null, reason: 'empty', isAccepted: true };
    return { new: result === '' ? GAP : result, reason: null, isAccepted: true };
  };
}
