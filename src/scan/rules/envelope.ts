import type { Rule } from './rule.js';

export const envelope: Rule = {
  id: 'envelope',
  title: 'Read of the V3 envelope',
  message: 'V4 nests the list one level deeper, and adds request_id.',
  v4: '.data.data, .data.next, .data.prev, .data.total_count',
  find: ({ reads }) =>
    reads.map(({ node, name, certainty }) => ({ start: node.start, certainty, v4: `.data.${name}` })),
};
