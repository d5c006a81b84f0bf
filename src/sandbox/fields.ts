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

/** Rounds to cents. */
export function cents(amount: number): number {
  return Math.round(amount * 100) / 100;
}

/** An amount that two records rarely share. */
export function drawAmount(draw: Draw): number {
  return cents((100 + draw.below(9_999_900)) / 100);
}

export function drawCode(draw: Draw, prefix: string): string {
  return `${prefix}${draw.next().toString(36).toUpperCase()}`;
}

/** A reference to another object on the platform; null for a tenth. */
export function drawReference(draw: Draw): string | null {
  return draw.maybe(0.1, () => String(1 + draw.below(99_999)));
}

export function drawCurrency(draw: Draw): string {
  return draw.pick(['EUR', 'USD', 'GBP', 'SEK', 'JPY', 'PLN', 'ILS']);
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

/** A name with a number, so that two records rarely share it. */
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

/** A free text; null for a third. */
export function drawText(draw: Draw): string | null {
  return draw.maybe(0.33, () => draw.pick(SENTENCES));
}

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

function drawAmounts(draw: Draw): JsonObject {
  const unit = drawAmount(draw);
  const quantity = 1 + draw.below(9);
  const net = cents(unit * quantity);
  const discount = draw.pick([0, cents(net / 10)]);
  const tax = cents((net - discount) / 5);
  return {
    quantity,
    unit_amount: unit,
    sub_total: net,
    total_discount: discount,
    tax_amount: tax,
    total_amount: cents(net - discount + tax),
  };
}

/** The platform's fields of a line item of an accounting document; the caller adds its ids. */
export function buildLineItem(draw: Draw, updatedAt: string | null): JsonObject {
  return {
    line_item_type: draw.pick(['item', 'account', 'expense']),
    line_item_type_id: drawReference(draw),
    tracking_category_ids: draw.chance(0.3) ? [String(1 + draw.below(40)), 'région-2'] : [],
    project_id: draw.maybe(0.7, () => String(1 + draw.below(300))),
    item_id: drawReference(draw),
    tax_id: drawReference(draw),
    account_id: drawReference(draw),
    description: drawText(draw),
    ...drawAmounts(draw),
    updated_at: updatedAt,
  };
}

/** A line item of an e-commerce order: it has no id of its own. */
export function buildPlainLineItem(draw: Draw): JsonObject {
  return {
    item_id: drawReference(draw),
    tax_id: drawReference(draw),
    line_item_type_id: drawReference(draw),
    line_item_type: draw.pick(['product', 'shipping', 'gift_card']),
    description: drawText(draw),
    ...drawAmounts(draw),
  };
}
