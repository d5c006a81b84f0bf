import { argumentsOf, calleeOf, plainText, unwrap, walk } from '../access.js';
import { positionInFile, type RuleInput } from '../rule-input.js';
import type { SyntaxNode } from '../syntax.js';
import { isCompanyFilter } from './company-filter.js';
import type { Rule, RuleHit } from './rule.js';

export const hardCodedId: Rule = {
  id: 'hard-coded-id',
  title: 'Id in the code',
  message: 'V4 gave every record a new id. An id in the code means another record, or none.',
  v4: 'svc-migrate lookup MODEL ID',
  find: (input) => [...inUrls(input), ...besideNames(input), ...inText(input)],
};

function inUrls({ addresses, path, settings }: RuleInput): RuleHit[] {
  return addresses.flatMap((address): RuleHit[] => {
    const { url, certainty } = address;
    if (certainty === null) return [];
    const id = url.route?.id ?? null;
    const isId = (name: string) =>
      name === `${settings.fieldPrefix}id[eq]` || isCompanyFilter(name, settings.fieldPrefix);
    const items = url.query.filter(
      ({ name, value, from, to }) =>
        isId(name) &&
        /^\d+$/.test(value) &&
        positionInFile(address, path, from) ===
          (positionInFile(address, path, to - 1) ?? 0) - (to - 1 - from),
    );
    const places = [
      ...(id === null ? [] : [{ from: id.from, name: '' }]),
      ...items.map(({ from, name }) => ({ from, name })),
    ];
    return places.flatMap(({ from, name }) => {
      const start = positionInFile(address, path, from);
      return start === null ? [] : [{ start, certainty, ...v4Of(name) }];
    });
  });
}

/** Digits that are assigned to, compared with or passed beside the name of an id. */
function besideNames({ nodes, source, settings }: RuleInput): RuleHit[] {
  const isName = idName(settings.fieldPrefix);
  const isNamed = (node: SyntaxNode) => isName.test(plainText(unwrap(node), source) ?? '');
  return nodes.flatMap((node): RuleHit[] => {
    if (digitsOf(source, node) === null) return [];
    const around = statementOf(node, source);
    if (around === null || around.end - around.start > 300) return [];
    const names = walk(around).filter(
      (one) => /^(name|string|symbol)$/.test(one.kind) && (one.end <= node.start || one.start >= node.end),
    );
    // The last argument of a chain of calls belongs to the last call only.
    const near = around.kind === 'call' && !isAssertion(around, source) ? namesGiven(around, source) : names;
    const named = near.find(isNamed);
    if (named === undefined) return [];
    const v4 = v4Of(plainText(unwrap(named), source) ?? '');
    return [{ start: node.start, certainty: around.kind === 'assign' ? 'look' : 'likely', ...v4 }];
  });
}

const COMPANY = 'the V4 id of the company: svc-migrate report pairs them';

/** Ids of companies are paired by the remap; those of records are looked up. */
function v4Of(name: string): { readonly v4?: string } {
  return /company/i.test(name) ? { v4: COMPANY } : {};
}

const ASSERTS =
  /^(to|not_to|toBe|toEqual|toStrictEqual|assert\w*|Assert\w*|Equal|isEqualTo|is|expect|where|find_by!?|findBy\w*|filter|Where|AreEqual)$/;

function isAssertion(call: SyntaxNode, source: string): boolean {
  return ASSERTS.test(calleeOf(call, source).name);
}

function namesGiven(call: SyntaxNode, source: string): SyntaxNode[] {
  return argumentsOf(call, source).map(({ value }) => value);
}

/** The pair, comparison, assignment or call that a literal is a part of. */
function statementOf(node: SyntaxNode, source: string): SyntaxNode | null {
  for (let at = node.parent, up = 0; at !== null && up < 7; at = at.parent, up += 1) {
    if (/^(pair|binary|assign)$/.test(at.kind) || /^assert/.test(at.type)) return at;
    if (at.kind === 'call' && !/^(eq|be|equal|equalTo|is)$/.test(calleeOf(at, source).name)) return at;
    if (at.kind === 'function' || at.kind === 'class' || at.kind === 'return') return null;
  }
  return null;
}

function digitsOf(source: string, node: SyntaxNode): string | null {
  if (node.kind === 'number') {
    const text = source
      .slice(node.start, node.end)
      .replaceAll('_', '')
      .replace(/[nLl]+$/, '');
    return /^[1-9]\d{1,18}$/.test(text) ? text : null;
  }
  const text = node.kind === 'string' ? plainText(node, source) : null;
  return text !== null && /^[1-9]\d{1,18}$/.test(text) ? text : null;
}

function idName(prefix: string): RegExp {
  const camel = prefix.replace(/_$/, '');
  return new RegExp(
    `(^|_|\\b)(${prefix}(\\w+_)?ids?|${camel}(\\w+)?(Id|ID)s?|${prefix.toUpperCase()}(\\w+_)?IDS?)(\\[(eq|in)\\])?$|^(Svc\\w*(Id|ID))$`,
  );
}

/** Conditions in SQL and members of JSON and YAML, inside strings and in text that is not parsed. */
function inText({ strings, source, nodes, settings }: RuleInput): RuleHit[] {
  const { fieldPrefix } = settings;
  const pattern = new RegExp(
    `["']?\\b${fieldPrefix}(?:\\w+_)?id\\\\?["']?\\s*(?:=|:|IN\\s*\\()\\s*\\\\?["']?([1-9]\\d+)`,
    'gi',
  );
  const given = nodes.length === 0 ? [{ start: 0, text: source }] : strings;
  return given.flatMap(({ start, text }) =>
    // A record that carries request_id came from V4 already.
    [...text.matchAll(pattern)].map(
      ({ index, 0: name }): RuleHit => ({
        start: start + index,
        certainty: /"request_id"/.test(text) ? 'look' : 'likely',
        ...v4Of(name),
      }),
    ),
  );
}
