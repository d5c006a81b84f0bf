import type { SqlText } from '../engine/dialect.js';
import { quoteName } from '../sql-names.js';
import { updateFrom } from './update-from.js';

/** How PostgreSQL writes what every database can say. The ledger holds texts, and keys as lists of texts. */
export const POSTGRES_TEXT: SqlText = {
  kind: 'postgres',
  quote: quoteName,
  // The catalogue's facts have it quoted, with its schema.
  tableSql: (table) => table,
  temporary: (name) => `pg_temp.${name}`,
  asText: (term) => `${term}::text`,
  asEntry: (term) => `${term}::text`,
  exactText: (term) => `${term}::text`,
  fromEntry: (term, type) => `(${term})::${type}`,
  isSame: (one, other) => `(${one}::text IS NOT DISTINCT FROM ${other})`,
  isKey: (column, value) => `${column} = ${value}`,
  keySql: (terms) => `ARRAY[${terms.map((term) => `${term}::text`).join(', ')}]`,
  keyPart: ({ keyTypes }, rowKey, at) => `(${rowKey}[${at + 1}])::${keyTypes[at]}`,
  keyName: (rowKey) => `array_to_string(${rowKey}, ', ')`,
  inPairs: (pairs) => `(${pairs.join(', ')})`,
  updateFrom: (update) => updateFrom(update.table, update),
  nextEntry: ({ entry }) => `(SELECT coalesce(max(id), 0) FROM ${entry}) + row_number() OVER ()`,
};
