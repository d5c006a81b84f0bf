import type { Rule } from './rule.js';

export const webhook: Rule = {
  id: 'webhook',
  title: 'Webhook events',
  message: 'During the move, events with V3 ids and with V4 ids arrive in one stream.',
  v4: 'look each id up in the remap before using it',
  find: ({ strings, nodes, language }) => {
    if (nodes.length === 0 && language !== 'text') return [];
    return strings
      .filter(({ text }) => text === 'DATA_MODEL_CHANGES')
      .map(({ start }) => ({ start, certainty: 'likely' }));
  },
};
