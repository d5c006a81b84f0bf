import type { Rule } from './rule.js';

/** What `--mark` writes at the start of a comment. */
export const MARK = 'svc-migrate:';

export const mark: Rule = {
  id: 'mark',
  title: 'Marked for later',
  message: 'A comment says that something is left to do here.',
  v4: 'do it, then delete the comment',
  find: ({ nodes, source, language }) => {
    if (nodes.length > 0) {
      const comments = nodes.filter((node) => node.kind === 'comment');
      return comments.flatMap(({ start, end }) => found(source.slice(start, end), start));
    }
    return language === 'json' ? [] : inLines(source);
  },
};

function found(comment: string, start: number) {
  const at = /^[\s/*#<!-]*svc-migrate:(?=\s)/.exec(comment);
  return at === null ? [] : [{ start: start + at[0].length - MARK.length, certainty: 'certain' as const }];
}

function inLines(source: string) {
  return [...source.matchAll(/^\s*(?:#|--|\/\/)\s*svc-migrate:(?=\s)/gm)].map(({ 0: text, index }) => ({
    start: index + text.length - MARK.length,
    certainty: 'certain' as const,
  }));
}
