import type { Draw } from './seeded-random.js';

/** A JSON value in which integers of any size are exact: `bigint` is written as an integer literal. */
export type Json = string | number | bigint | boolean | null | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: Json;
}

export function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

export function writeJson(value: Json): string {
  if (typeof value === 'bigint') return value.toString();
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (isList(value)) return `[${value.map(writeJson).join(',')}]`;
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${writeJson(member)}`);
  return `{${members.join(',')}}`;
}

export interface ModelShape {
  readonly v3: string;
  readonly v4: string;
  /** Share of all records, relative to the other models; 0: one record per company. */
  readonly weight: number;
  /** `ids`: line items with svc_id and platform_id of their own. */
  readonly lineItems: 'none' | 'plain' | 'ids';
  readonly expand: readonly string[];
  readonly fields: readonly string[];
}

/**
 * One model per line: V3 path | V4 data model | weight | relations that `expand` takes | fields. An indented line continues
 * the previous one. The order affects the data of a seed. The specification names only the route of invoices; their fields
 * follow the credit note's.
 */
const TABLE = `
accounting/bill_credit_notes | bill_credit_notes | 12 | currency line_items contact payments
  | contact_id document_number total_amount remaining_credit posted_date currency_id memo status bill_ids updated_at tax_amount
accounting/invoices | invoices | 30 | currency line_items contact payments
  | contact_id document_number posted_date due_date sub_total tax_amount total_amount amount_due currency_id memo status
  created_at updated_at
accounting/company_info | company_info | 0 |
  | name legal_name tax_number registration_number base_currency fiscal_start_at org_created_at updated_at
payments/items | payment_items | 14 |
  | created_at updated_at name description code unit_price currency_id status
payments/orders | payment_orders | 12 |
  | created_at reference amount amount_due status currency_id
payments/tax_rates | tax_rates | 5 |
  | created_at updated_at name description rate
ecommerce/orders | ecommerce_orders | 12 | line_items
  | currency_id reference created_at updated_at order_name order_number description total_discount sub_total tax_amount
  total_amount amount_due shipping_amount order_status payment_status customer_id
crm/companies | crm_companies | 10 | phone_numbers addresses external_links company
  | name description industry people_count created_at updated_at
crm/stages | stages | 5 | pipeline
  | name status deal_probability pipeline_id created_at updated_at
`;

export const MODELS: readonly ModelShape[] = TABLE.trim().replace(/\n +/g, ' ').split('\n').map(parseModel);

function parseModel(line: string): ModelShape {
  const [v3 = '', v4 = '', weight = '', expand = '', fields = ''] = line.split(/ ?\| ?/);
  const relations = expand.split(' ').filter((name) => name !== '');
  const ofItems = v3.startsWith('accounting/') ? 'ids' : 'plain';
  return {
    v3,
    v4,
    weight: Number(weight),
    lineItems: relations.includes('line_items') ? ofItems : 'none',
    expand: relations,
    fields: fields.split(' '),
  };
}

export interface PlatformDates {
  readonly created: string | null;
  readonly updated: string | null;
  readonly posted: string | null;
}

export const UNDATED: PlatformDates = { created: null, updated: null, posted: null };

type DrawField = (draw: Draw, dates: PlatformDates) => Json;

const RULES: readonly (readonly [names: RegExp, draw: DrawField])[] = [
  [/^(org_)?created_at$|^fiscal_start_at$/, (_, { created }) => created],
  [/^updated_at$/, (_, { updated }) => updated],
  [/_date$/, (_, { posted }) => posted],
  [/^unit_price$/, (draw) => drawAmount(draw).toFixed(2)],
  [/^(people_count|quantity)$/, (draw) => draw.maybe(0.2, () => 1 + draw.below(5000))],
  [/^(rate|deal_probability)$/, (draw) => draw.below(101) / 100],
  [/(^|_)(amount|total|discount|credit|due)$/, drawAmount],
  [/_ids$/, (draw) => Array.from({ length: draw.below(3) }, () => String(1 + draw.below(99_999)))],
  [/currency/, (draw) => draw.pick(['EUR', 'USD', 'GBP', 'SEK', 'JPY', 'PLN', 'ILS'])],
  [/status$/, (draw) => draw.pick(['draft', 'open', 'paid', 'voided'])],
  [/_id$/, (draw) => draw.maybe(0.1, () => String(1 + draw.below(99_999)))],
  [/name$/, drawName],
  [/^(memo|description)$/, (draw) => draw.maybe(0.33, () => draw.pick(SENTENCES))],
  [/_type$/, (draw) => draw.pick(['item', 'account', 'expense', 'shipping'])],
];

const drawCode: DrawField = (draw) => `A-${draw.next().toString(36).toUpperCase()}`;

const DRAWS = new Map<string, DrawField>();

export function drawFields(names: readonly string[], draw: Draw, dates: PlatformDates): JsonObject {
  const fields: Record<string, Json> = {};
  for (const name of names) {
    const drawField = DRAWS.get(name) ?? RULES.find(([fits]) => fits.test(name))?.[1] ?? drawCode;
    DRAWS.set(name, drawField);
    fields[name] = drawField(draw, dates);
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
export function drawRelation(draw: Draw, name: string): Json {
  const drawObject = () => ({
    svc_id: 1 + draw.below(900),
    platform_id: String(1 + draw.below(900)),
    name: drawName(draw),
  });
  return LISTS.includes(name) ? Array.from({ length: draw.below(3) }, drawObject) : drawObject();
}
