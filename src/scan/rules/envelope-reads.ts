import { ancestor, entriesOf, textOf } from '../access.js';
import type { RuleInput } from '../rule-input.js';
import type { Rule, RuleHit } from './rules.js';

export const envelope: Rule = {
  id: 'envelope',
  title: 'Read of the V3 envelope',
  message: 'V4 nests the list one level deeper, and adds request_id.',
  v4: '.data.data, .data.next, .data.prev, .data.total_count',
  find: ({ reads }) =>
    reads.map(({ node, name, certainty }) => ({ start: node.start, certainty, v4: `.data.${name}` })),
};

export const recordedResponse: Rule = {
  id: 'recorded-response',
  title: 'Recorded V3 response',
  message: 'This is an envelope of V3. Tests that read it pass with code that fails against V4.',
  v4: '{ "data": { "data": […], "next": …, "total_count": … }, "request_id": … }',
  find: (input) => [...inText(input), ...inCode(input)],
};

/** Whether a JSON text has `data` as a list, `next`, `prev` or `total_count` beside it, and ids of the service. */
function isEnvelope(text: string, prefix: string): boolean {
  const plain = text.replaceAll('\\"', '"').trimStart();
  const isList =
    /^\{\s*"(data"\s*:\s*\[|(prev|next|total_count)"\s*:)/.test(plain) && /"data"\s*:\s*\[/.test(plain);
  return (
    isList &&
    /"(next|prev|total_count)"\s*:/.test(plain) &&
    plain.includes(`"${prefix}id"`) &&
    !/"request_id"\s*:/.test(plain)
  );
}

function inText({ strings, source, nodes, settings, v3, language }: RuleInput): RuleHit[] {
  const isData = nodes.length === 0 && (language === 'json' || language === 'text');
  if (isData && isEnvelope(source, settings.fieldPrefix))
    return [{ start: source.search(/\S/), certainty: 'likely' }];
  const isRecording =
    /"(request|response|entries)"\s*:/.test(source) && v3 === 'certain' && nodes.length === 0;
  return strings
    .filter(({ text }) => text.includes('data') && isEnvelope(text, settings.fieldPrefix))
    .map(({ start, text }): RuleHit => {
      const lead = text.startsWith('\n') ? 3 + text.search(/\S/) : 0;
      return { start: start + lead, certainty: isRecording ? 'certain' : 'likely' };
    });
}

function inCode({ nodes, source, settings }: RuleInput): RuleHit[] {
  return nodes.flatMap((node): RuleHit[] => {
    if (node.kind !== 'object' || node.children.length > 8) return [];
    const entries = entriesOf(node);
    const keys = entries.map(({ key }) => key);
    const data = entries.find(({ key }) => key === 'data')?.value;
    const isList =
      data !== undefined && /^[[(]|^array\(|^new\b/.test(source.slice(data.start, data.start + 6));
    const hasKeys =
      isList && keys.some((key) => /^(next|prev|total_count)$/.test(key)) && !keys.includes('request_id');
    if (!hasKeys || !textOf(data).includes(`${settings.fieldPrefix}id`)) return [];
    const isNested = ancestor(node, ({ kind }) => kind === 'pair') !== null;
    return isNested ? [] : [{ start: node.start, certainty: 'likely' }];
  });
}
