import type { Draw } from './seeded-random.js';

/** A JSON value in which integers of any size are exact: `bigint` is written as an integer literal. */
export type Json = string | number | bigint | boolean | null | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: Json;
}

/** Writes compact JSON, with keys in their order. */
export function writeJson(value: Json): string {
  if (typeof value === 'bigint') return value.toString();
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (isList(value)) return `[${value.map(writeJson).join(',')}]`;
  let text = '';
  for (const key of Object.keys(value)) {
    const member = value[key];
    if (member === undefined) continue;
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${writeJson(member)}`;
  }
  return `{${text}}`;
}

export function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

/** How a field's values compare in filters; a `number` may be stored as text. */
export type FieldKind = 'integer' | 'number' | 'text' | 'texts' | 'timestamp';

export interface PlatformDates {
  readonly created: string | null;
  readonly updated: string | null;
  readonly posted: string | null;
}

export const UNDATED: PlatformDates = { created: null, updated: null, posted: null };

interface FieldRule {
  readonly names: RegExp;
  readonly kind: FieldKind;
  readonly draw: (draw: Draw, dates: PlatformDates) => Json;
}

const rule = (names: RegExp, kind: FieldKind, draw: FieldRule['draw']): FieldRule => ({ names, kind, draw });

const RULES: readonly FieldRule[] = [
  rule(/^(org_)?created_at$|^fiscal_start_at$/, 'timestamp', (_, { created }) => created),
  rule(/^updated_at$/, 'timestamp', (_, { updated }) => updated),
  rule(/_date$/, 'timestamp', (_, { posted }) => posted),
  rule(/^unit_price$/, 'number', (draw) => drawAmount(draw).toFixed(2)),
  rule(/^(people_count|quantity)$/, 'integer', (draw) => draw.maybe(0.2, () => 1 + draw.below(5000))),
  rule(/^(rate|deal_probability)$/, 'number', (draw) => draw.below(101) / 100),
  rule(/(^|_)(amount|total|discount|credit|due)$/, 'number', drawAmount),
  rule(/_ids$/, 'texts', (draw) =>
    Array.from({ length: draw.below(3) }, () => String(1 + draw.below(99_999))),
  ),
  rule(/currency/, 'text', (draw) => draw.pick(['EUR', 'USD', 'GBP', 'SEK', 'JPY', 'PLN', 'ILS'])),
  rule(/status$/, 'text', (draw) => draw.pick(['draft', 'open', 'paid', 'voided'])),
  rule(/_id$/, 'text', (draw) => draw.maybe(0.1, () => String(1 + draw.below(99_999)))),
  rule(/name$/, 'text', drawName),
  rule(/^(memo|description)$/, 'text', (draw) => draw.maybe(0.33, () => draw.pick(SENTENCES))),
  rule(/_type$/, 'text', (draw) => draw.pick(['item', 'account', 'expense', 'shipping'])),
  rule(/^/, 'text', (draw) => `A-${draw.next().toString(36).toUpperCase()}`),
];

function ruleOf(name: string): FieldRule {
  const rule = RULES.find(({ names }) => names.test(name));
  if (rule === undefined) throw new TypeError(`No rule fills ${name}.`);
  return rule;
}

export function kindOf(name: string): FieldKind {
  return ruleOf(name).kind;
}

const DRAWS = new Map<string, FieldRule['draw']>();

export function drawFields(names: readonly string[], draw: Draw, dates: PlatformDates): JsonObject {
  const fields: Record<string, Json> = {};
  for (const name of names) {
    const fill = DRAWS.get(name) ?? ruleOf(name).draw;
    DRAWS.set(name, fill);
    fields[name] = fill(draw, dates);
  }
  return fields;
}

function drawAmount(draw: Draw): number {
  return (100 + draw.below(9_999_900)) / 100;
}

const NAMES = [
  'Müller & Söhne GmbH',
  'Société Générale d’Équipement',
  '株式会社サンプル',
  'Ακμή Α.Ε.',
  'Zażółć Sp. z o.o.',
  'O’Neill Ltd',
  'Ünal Gıda A.Ş.',
  'שלום בע״מ',
  'Nordic Fjärd AB',
  'Acme Corporation',
  'Ferreira e Irmãos',
  'ООО «Ромашка»',
] as const;

export function drawName(draw: Draw): string {
  return `${draw.pick(NAMES)} ${1000 + draw.below(9_999_000)}`;
}

const SENTENCES = [
  'Returned goods, see delivery note',
  'Rückgabe – beschädigt geliefert',
  'Quarterly service; “as agreed”',
  'Line one\nLine two',
  'お支払いありがとうございます',
  'Tax included 20 % <net 30>',
] as const;

const LISTS = ['payments', 'phone_numbers', 'addresses', 'external_links'];

/** A related object, or a list of them, as returned with `expand`; each has ids of its own. */
export function buildRelation(draw: Draw, name: string): Json {
  const buildOne = () => ({
    svc_id: 1 + draw.below(900),
    platform_id: String(1 + draw.below(900)),
    name: drawName(draw),
  });
  return LISTS.includes(name) ? Array.from({ length: draw.below(3) }, buildOne) : buildOne();
}
