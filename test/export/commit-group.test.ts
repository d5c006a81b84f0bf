import { describe, expect, it } from 'vitest';
import { createCommitGroup } from '../../src/export/saver.js';

/** Transactions by what was saved in them. */
function recordGroups() {
  const groups: string[][] = [];
  const group = createCommitGroup((work) => {
    groups.push([]);
    return work();
  });
  const save = (name: string) =>
    group.add(() => {
      groups.at(-1)?.push(name);
      return name;
    });
  return { groups, save, group };
}

describe('what is saved at the same time', () => {
  it('shares a transaction, which begins when somebody waits for it', async () => {
    const { groups, save, group } = recordGroups();
    const saved = Promise.all([save('a'), save('b')]);
    group.flushSoon();
    const late = save('c');
    expect(await Promise.all([saved, late])).toEqual([['a', 'b'], 'c']);
    expect(groups).toEqual([['a', 'b', 'c']]);
  });

  it('is committed at once where somebody waited before it came', async () => {
    const { groups, save, group } = recordGroups();
    group.flushSoon();
    expect(await save('a')).toBe('a');
    expect(groups).toEqual([['a']]);
  });

  it('all fails where one of them does, and says what failed', async () => {
    const { save, group } = recordGroups();
    const ends = Promise.allSettled([
      save('b'),
      group.add(() => {
        throw new Error('disk');
      }),
    ]);
    group.flushSoon();
    expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
