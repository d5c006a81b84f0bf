import { describe, expect, it } from 'vitest';
import { createCommitGroup } from '../../src/export/commit-group.js';

/** Transactions that take a moment, so that the next group has a reason to gather. */
function recordGroups(callers: number) {
  const groups: string[][] = [];
  const inTransaction = <T>(work: () => T): T => {
    groups.push([]);
    const until = performance.now() + 30;
    while (performance.now() < until);
    return work();
  };
  const add = createCommitGroup({ inTransaction, callers: () => callers });
  const save = (name: string) =>
    add(() => {
      groups.at(-1)?.push(name);
      return name;
    });
  return { groups, save, add };
}

describe('pages that are saved at the same time', () => {
  it('share a transaction once commits are what everybody waits for', async () => {
    const { groups, save } = recordGroups(2);
    await save('a');
    expect(await Promise.all([save('b'), save('c')])).toEqual(['b', 'c']);
    expect(groups).toEqual([['a'], ['b', 'c']]);
  });

  it('are committed alone by the only reader', async () => {
    const { groups, save } = recordGroups(1);
    await save('a');
    await Promise.all([save('b'), save('c')]);
    expect(groups).toEqual([['a'], ['b'], ['c']]);
  });

  it('are committed without the readers that do not come', async () => {
    const { groups, save } = recordGroups(8);
    await save('a');
    await save('b');
    expect(groups).toEqual([['a'], ['b']]);
  });

  it('all fail where one of them does', async () => {
    const { save, add } = recordGroups(2);
    await save('a');
    const failing = add(() => {
      throw new Error('disk');
    });
    const ends = await Promise.allSettled([save('b'), failing]);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
