import type { Config } from '../config/config.js';
import type { ListPage, OnProgress } from '../domain.js';
import { SvcError } from '../errors.js';
import type { ListRequest } from './client.js';

type ReadPage = (request: ListRequest, asksDeleted: boolean) => Promise<ListPage>;

/**
 * Whether V4 takes `include_deleted_records` is not specified. With `auto` it is asked for, and done without from
 * the first list on that V4 answers 400 to, naming the parameter, and well without it; a warning says so. Any other
 * 400 is an error: guessing would hide deleted records.
 */
export function askingDeleted(
  config: Config,
  read: ReadPage,
  onProgress: OnProgress,
): (request: ListRequest) => Promise<ListPage> {
  const { includeDeleted } = config.v4;
  let asks = includeDeleted !== false;
  return async (request) => {
    const asked = asks;
    try {
      return await read(request, asked);
    } catch (error) {
      if (includeDeleted !== 'auto' || !asked || !isRefusal(request, error)) throw error;
      const page = await read(request, false);
      if (asks) onProgress({ kind: 'note', level: 'warning', text: NOT_TAKEN });
      asks = false;
      return page;
    }
  };
}

const NOT_TAKEN =
  'V4 refuses include_deleted_records: it is read without deleted records, and what was deleted in V4 counts as missing.';

/** Only of a first page: later ones carry a cursor that may have been refused itself. */
function isRefusal({ stream, cursor }: ListRequest, error: unknown): boolean {
  const isFirst = stream.generation === 'v4' && cursor === null;
  if (!isFirst || !(error instanceof SvcError) || error.facts['status'] !== 400) return false;
  return String(error.facts['answer']).includes('include_deleted');
}
