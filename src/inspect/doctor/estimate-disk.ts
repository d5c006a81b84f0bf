import type { Config } from '../../config/config.js';
import type { Answer, RemoteFacts } from './facts.js';

/** What a record takes beside its payload, with its row of the remap and its indexes: measured 350 bytes. */
const BYTES_PER_RECORD = 400;
/** A payload takes its bytes and some of a page: measured 1.05. */
const PAYLOAD_SHARE = 1.1;

/** How much a database of everything takes. */
export interface DiskEstimate {
  readonly records: number;
  readonly bytes: number;
  /** Lists that gave no count are left out of it. */
  readonly uncounted: number;
}

/** From the counts of all lists asked; V4 companies that were not asked count like those that were. */
export function estimateDisk(remote: RemoteFacts, config: Config): DiskEstimate {
  const v3 = remote.v3.map(({ answer }) => answer);
  const v4 = (remote.v4?.lists ?? []).map(({ answer }) => answer);
  const asked = remote.v4?.asked.length ?? 0;
  const scale = asked === 0 ? 0 : (remote.v4?.companies?.length ?? 0) / asked;
  const records = Math.round(countOf(v3) + countOf(v4) * scale);
  const payload = config.payload === 'full' ? meanBytes([...v3, ...v4]) * PAYLOAD_SHARE : 0;
  const uncounted = [...v3, ...v4].filter(
    (answer) => answer.kind === 'answers' && answer.totalCount === null,
  );
  return { records, bytes: Math.round(records * (BYTES_PER_RECORD + payload)), uncounted: uncounted.length };
}

function countOf(answers: readonly Answer[]): number {
  return answers.reduce((sum, answer) => sum + (answer.kind === 'answers' ? (answer.totalCount ?? 0) : 0), 0);
}

/** Every list counts by its records, as its sample shows them. */
function meanBytes(answers: readonly Answer[]): number {
  let bytes = 0;
  let records = 0;
  for (const answer of answers) {
    if (answer.kind !== 'answers' || answer.records.length === 0) continue;
    const n = answer.totalCount ?? answer.records.length;
    bytes += (answer.bytes / answer.records.length) * n;
    records += n;
  }
  return records === 0 ? 0 : bytes / records;
}
