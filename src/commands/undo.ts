import type { LedgerRun, Undone } from '../apply/context.js';
import { closeSites, type OpenSite, openSites } from '../apply/open-sites.js';
import { renderRuns, renderUndone } from '../apply/render-outcome.js';
import type { Config } from '../config/config.js';
import { suggest } from '../config/suggest.js';
import { SvcError } from '../errors.js';
import { assertTargets, writeOutput, writeText } from '../report/write-output.js';
import { buildContext } from './apply-context.js';
import type { UndoRequest } from './apply-request.js';
import type { Io } from './io.js';
import { readDatabase } from './read-database.js';

/** Ids are put back as they were: no policy plays a part. */
const POLICY = { mode: 'new', missing: 'fail', unknown: 'fail', mapDeleted: false, again: false } as const;

/**
 * `undo`: takes a run back, or lists the runs. 0 all of it is back, 1 some rows were changed since and left alone.
 *
 * @throws SvcError `usage` for a run that no ledger knows, `bad_input`, `locked`, `interrupted`, and as
 * `readDatabase` does
 */
export async function runUndo(config: Config, request: UndoRequest, io: Io): Promise<number> {
  const { run, json, targets, tuning } = request;
  assertTargets(json === undefined ? [] : [json], [config.database, config.file]);
  if (targets.length === 0) {
    throw new SvcError('usage', 'There is no target: nothing says where a ledger could be.', {
      hint: 'Name the place with --csv, --ndjson, --sqlite, --postgres-env or --postgres-file.',
    });
  }
  io.onProgress({ kind: 'stage', name: 'undo' });
  return readDatabase(config, async (db) => {
    const context = buildContext({ db, file: config.database, policy: POLICY, tuning }, io);
    const sites = openSites(context, targets);
    try {
      const runs = await listRuns(sites);
      return await (run === undefined ? showRuns(runs, json, io) : undoRun(sites, runs, { run, json }, io));
    } finally {
      await closeSites(sites);
    }
  });
}

async function listRuns(sites: readonly OpenSite[]): Promise<LedgerRun[]> {
  const runs: LedgerRun[] = [];
  for (const site of sites) runs.push(...(await site.runs()));
  return runs.sort((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
}

async function showRuns(runs: readonly LedgerRun[], json: string | undefined, io: Io): Promise<number> {
  const last = runs.findLast(({ state }) => state !== 'undone');
  const next = last === undefined ? 'svc-migrate apply' : `svc-migrate undo ${last.run}`;
  await say(
    {
      json: { runs, next },
      text: `${runs.length === 0 ? 'No run yet.\n' : renderRuns(runs, io.width)}Next: ${next}\n`,
    },
    json,
    io,
  );
  return 0;
}

async function undoRun(
  sites: readonly OpenSite[],
  runs: readonly LedgerRun[],
  { run, json }: { readonly run: string; readonly json: string | undefined },
  io: Io,
): Promise<number> {
  const own = runs.filter((one) => one.run === run);
  if (own.length === 0) throw unknownRun(run, runs);
  if (own.every(({ state }) => state === 'undone')) {
    const text = `Run ${run} was taken back before; there is nothing to do.\n`;
    await say({ json: { run, undone: [] }, text: `${text}Next: svc-migrate apply\n` }, json, io);
    return 0;
  }
  const undone: Undone[] = [];
  for (const site of sites) {
    if ((await site.runs()).some((one) => one.run === run)) undone.push(...(await site.undo(run)));
  }
  const left = undone.reduce((sum, one) => sum + one.changedSinceCount, 0);
  const title =
    left === 0 ? `Run ${run} is taken back.` : `Run ${run} is taken back but for ${left} changed since.`;
  const next =
    left === 0 ? 'svc-migrate apply' : `look at these rows; svc-migrate undo ${run} tries them again`;
  const text = `${title}\n${renderUndone(undone, io.width)}Next: ${next}\n`;
  await say({ json: { run, undone, next }, text }, json, io);
  return left === 0 ? 0 : 1;
}

function unknownRun(run: string, runs: readonly LedgerRun[]): SvcError {
  const names = [...new Set(runs.filter(({ state }) => state !== 'undone').map((one) => one.run))];
  const near = suggest(run, names);
  const list = names.slice(-5).join(', ');
  return new SvcError('usage', `No ledger of these targets knows a run "${run}".`, {
    hint:
      near !== null
        ? `Did you mean "${near}"?`
        : names.length === 0
          ? 'There is no run to take back.'
          : `There is: ${list}.`,
  });
}

async function say(
  { json, text }: { readonly json: object; readonly text: string },
  target: string | undefined,
  io: Io,
): Promise<void> {
  if (target !== undefined) {
    await writeOutput({ target, chunks: () => [`${JSON.stringify(json, null, 2)}\n`] }, io);
  }
  if (target !== '-') await writeText(io.stdout, [text]);
}
