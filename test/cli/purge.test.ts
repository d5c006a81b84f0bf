import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { MIXED, newIo, withDatabase } from '../report/support.js';
import { givenOf, runNamed } from '../support/given.js';

/** Runs `purge` on a terminal where `answer` is typed; what it did, and what it said on stderr. */
async function purge(answer: string | null, options: Record<string, boolean>) {
  return withDatabase(MIXED, {}, async ({ config }) => {
    const input = new PassThrough();
    const io = newIo({ isTty: answer !== null });
    const typed = Object.assign(input, { isTTY: answer !== null });
    const given = givenOf(config, { payloads: true, ...options }, [], typed);
    if (answer !== null) input.end(`${answer}\n`);
    const ended = await runNamed('purge', given, io).catch(({ code }) => code);
    return { ended, said: io.stderr.text, printed: io.stdout.text };
  });
}

describe('purge', () => {
  it.each(['y', 'yes', 'Y'])('deletes after the answer %s', async (answer) => {
    const { ended, said, printed } = await purge(answer, {});
    expect(ended).toBe(0);
    expect(said).toMatch(
      /Ids, keys and the remap stay\.[\s\S]*Delete .* payload.* from .*test\.db \([\d.,]+ [KM]iB\)\? \[y\/N\]/,
    );
    expect(printed).toMatch(/^Deleted /);
  });

  it.each(['', 'n', 'no', 'yesterday'])('changes nothing after the answer "%s"', async (answer) => {
    expect(await purge(answer, {})).toMatchObject({ ended: 0, printed: 'Nothing was changed.\n' });
  });

  it('needs --yes where nobody can answer', async () => {
    expect(await purge(null, {})).toMatchObject({ ended: 'usage', printed: '' });
    expect(await purge(null, { yes: true })).toMatchObject({ ended: 0 });
  });

  it('needs --payloads', async () => {
    expect(await purge(null, { payloads: false, yes: true })).toMatchObject({ ended: 'usage' });
  });
});
