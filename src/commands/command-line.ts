import { relative } from 'node:path';
import type { ApplyTarget, IdColumn } from '../config/apply-targets.js';

/** How targets came to be: from the configuration, all or some, or by options. */
export type Source =
  | { readonly kind: 'configured' }
  | { readonly kind: 'named'; readonly names: readonly string[] }
  | { readonly kind: 'given'; readonly target: ApplyTarget };

/** Words that follow a command so that it is about the same targets; `undo` needs only the place. */
export function wordsOf(source: Source, isUndo: boolean): string[] {
  switch (source.kind) {
    case 'configured':
      return [];
    case 'named':
      return isUndo ? [] : [...source.names];
    case 'given':
      return isUndo
        ? placeWords(source.target)
        : [...placeWords(source.target), ...detailWords(source.target)];
  }
}

/** A command line as a shell takes it. */
export function shellLine(words: readonly string[]): string {
  return words
    .map((word) => (/^[\w@%+=:,./#-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(' ');
}

function placeWords(target: ApplyTarget): string[] {
  switch (target.kind) {
    case 'csv':
    case 'ndjson':
      return [`--${target.kind}`, nearest(target.file), ...option('--output', target.output, nearest)];
    case 'sqlite':
      return ['--sqlite', nearest(target.file)];
    case 'postgres':
      return [
        ...option('--postgres-env', target.urlEnv),
        ...option('--postgres-file', target.urlFile, nearest),
        ...option('--ledger-schema', target.ledgerSchema === 'svc_migrate' ? undefined : target.ledgerSchema),
      ];
  }
}

function detailWords(target: ApplyTarget): string[] {
  const [first] = target.ids;
  return [
    ...('table' in target ? ['--table', target.table, ...option('--key', target.key?.join(','))] : []),
    ...target.ids.flatMap(({ column, model }) => [
      '--ids',
      model === undefined ? column : `${column}=${model}`,
    ]),
    ...(first === undefined ? [] : columnWords(first)),
    ...(target.kind === 'csv' && target.delimiter !== 'auto' ? ['--delimiter', target.delimiter] : []),
    ...(target.kind === 'csv' && !target.header ? ['--no-header'] : []),
  ];
}

function columnWords(id: IdColumn): string[] {
  return [
    ...option('--path', id.path),
    ...option('--model-column', id.modelColumn),
    ...option('--region', id.region),
    ...option('--region-column', id.regionColumn),
    ...option('--company', id.company),
    ...option('--company-column', id.companyColumn),
    ...option('--new-column', id.newColumn),
  ];
}

function option(flag: string, value: string | undefined, show: (value: string) => string = String): string[] {
  return value === undefined ? [] : [flag, show(value)];
}

/** Files below the working folder as they were most likely typed. */
function nearest(path: string): string {
  const near = relative('.', path);
  return near === '' || near.startsWith('..') ? path : near;
}
