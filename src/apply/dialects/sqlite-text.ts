import type { SqlText } from '../engine/dialect.js';
import { quoteName } from '../sql-names.js';
import { updateFrom } from './update-from.js';

/** How SQLite writes what every database can say. */
export const SQLITE_TEXT: SqlText = {
  kind: 'sqlite',
  quote: quoteName,
  tableSql: quoteName,
  temporary: (name) => `temp.${name}`,
  asText: (term) => `CAST(${term} AS TEXT)`,
  asEntry: (term) => term,
  exactText: (term) =>
    `CASE typeof(${term}) WHEN 'null' THEN NULL WHEN 'integer' THEN 'i' || ${term} ELSE 't' || CAST(${term} AS TEXT) END`,
  fromEntry: (term) => term,
  isSame: (one, other) => `(${one} IS ${other} COLLATE BINARY)`,
  // By the column's collation for its index, and to the last byte: an index may tell keys apart that the column's own
  // collation does not.
  isKey: (column, value) => `${column} = ${value} AND ${column} = ${value} COLLATE BINARY`,
  // Without its affinity: with it, SQLite finds entries by their key in no index, but reads all for each row.
  keySql: (terms) => {
    const plain = terms.map((term) => `+${term}`);
    return plain.length === 1 ? (plain[0] ?? '') : `json_array(${plain.join(', ')})`;
  },
  keyPart: ({ key }, rowKey, at) => (key.length === 1 ? rowKey : `json_extract(${rowKey}, '$[${at}]')`),
  keyName: (rowKey) => `CAST(${rowKey} AS TEXT)`,
  inPairs: (pairs) => `(VALUES ${pairs.join(', ')})`,
  updateFrom: (update) => updateFrom(quoteName(update.table), update),
  // SQLite numbers them.
  nextEntry: () => 'NULL',
};
