import { type FieldKind, kindOf } from './fields.js';

/** A data model with its fields, the same in V3 and V4. */
export interface ModelShape {
  readonly v3: string;
  readonly v4: string;
  /** Share of all records, relative to the other models; 0: one record per company. */
  readonly weight: number;
  /** `ids`: line items with svc_id and platform_id of their own. */
  readonly lineItems: 'none' | 'plain' | 'ids';
  readonly expand: readonly string[];
  readonly fields: Readonly<Record<string, FieldKind>>;
  readonly hasCreationDate: boolean;
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
  const names = fields.split(' ');
  const ofItems = v3.startsWith('accounting/') ? 'ids' : 'plain';
  return {
    v3,
    v4,
    weight: Number(weight),
    lineItems: relations.includes('line_items') ? ofItems : 'none',
    expand: relations,
    fields: Object.fromEntries(names.map((name) => [name, kindOf(name)])),
    hasCreationDate: names.includes('created_at') || names.includes('org_created_at'),
  };
}
