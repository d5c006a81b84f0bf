/**
 * A key as near-misses see it: trimmed, NFC, case folded, leading zeros dropped (a lone 0 stays).
 *
 * Only ever used to name candidates to a person, never to join.
 */
export function foldKey(key: string): string {
  const folded = key.trim().normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');
  return folded.replace(/^0+(?=.)/su, '');
}
