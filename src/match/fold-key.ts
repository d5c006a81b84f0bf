/**
 * Folds a key for finding near misses: trimmed, NFC, case folded, without leading zeros (a single 0 stays).
 *
 * Used only to name candidates to a person, never to join.
 */
export function foldKey(key: string): string {
  const folded = key.trim().normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');
  return folded.replace(/^0+(?=.)/su, '');
}
