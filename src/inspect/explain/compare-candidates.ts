import { escapeUnseen } from '../../text/escape.js';
import { clipText, layOutTable } from '../../text/text-layout.js';
import { buildFieldLines, type ExportedObject } from './story.js';

/** Columns of the terminal that one value may take. */
const MAX_CELL = 24;
const MIN_CELL = 8;

/**
 * A V3 object and the V4 objects that it may have become, side by side: the fields in which a candidate differs from it, as
 * lines. Where not all candidates fit in `width` columns, several tables follow each other. Candidates are numbered from 1.
 *
 * @param prefix of the service's own fields, which always differ and are left out
 */
export function renderCandidates(
  v3: ExportedObject,
  candidates: readonly ExportedObject[],
  prefix: string,
  width: number,
): string[] {
  const compared = candidates.map((candidate) =>
    buildFieldLines(v3, candidate, prefix).filter(({ name }) => !name.startsWith(prefix)),
  );
  const differing = new Set(
    compared.flatMap((lines) => lines.filter(({ verdict }) => verdict !== 'same').map(({ name }) => name)),
  );
  const all = new Set(compared.flatMap((lines) => lines.map(({ name }) => name)));
  const nameWidth = Math.max(0, ...[...differing].map((name) => name.length));
  const perTable = Math.max(1, Math.floor((width - nameWidth - 4) / (MAX_CELL + 2)) - 1);
  const cell = Math.max(
    MIN_CELL,
    Math.floor((width - nameWidth - 4) / (Math.min(perTable, candidates.length) + 1)) - 2,
  );
  const show = (text: string | null | undefined) =>
    text == null ? '–' : clipText(escapeUnseen(text), Math.min(MAX_CELL, cell));
  if (differing.size === 0) return ['  No field differs, but for those of the service.'];
  const lines: string[] = [];
  for (let from = 0; from < candidates.length; from += perTable) {
    const shown = candidates.slice(from, from + perTable);
    const columns = [
      { title: '', align: 'left' as const },
      { title: `V3 ${v3.svc_id}`, align: 'left' as const, keep: true },
      ...shown.map((one, at) => ({ title: titleOf(one, from + at), align: 'left' as const, keep: true })),
    ];
    const rows = [...differing].map((name) => [
      name,
      show(compared.flatMap((own) => own.find((line) => line.name === name) ?? [])[0]?.v3),
      ...shown.map((_, at) => show(compared[from + at]?.find((line) => line.name === name)?.v4)),
    ]);
    lines.push(...layOutTable(columns, rows, width), '');
  }
  const same = all.size - differing.size;
  if (same > 0)
    lines.push(`  (${same === 1 ? '1 further field is' : `${same} further fields are`} the same in all)`);
  return lines;
}

function titleOf({ svc_id: id, deleted }: ExportedObject, at: number): string {
  return `${at + 1}: V4 ${id}${deleted ? ' (deleted)' : ''}`;
}
