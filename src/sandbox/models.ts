import {
  cents,
  drawAmount,
  drawCode,
  drawCurrency,
  drawName,
  drawReference,
  drawText,
  type JsonObject,
} from './fields.js';
import { Draw } from './seeded-random.js';

/** How a field's values compare in filters; `decimal` is a number stored as text. */
export type FieldKind = 'integer' | 'number' | 'decimal' | 'text' | 'texts' | 'timestamp';

/** A record's dates on its platform, as text; null if the platform gave none. */
export interface PlatformDates {
  readonly created: string | null;
  readonly updated: string | null;
  readonly posted: string | null;
}

export const UNDATED: PlatformDates = { created: null, updated: null, posted: null };

interface ModelPlan {
  /** V3 path, and the model's name everywhere. */
  readonly v3: string;
  /** V4 data model. */
  readonly v4: string;
  /** Share of all records, relative to the other models; 0: one record per company. */
  readonly weight: number;
  readonly expand: readonly string[];
  /** `ids`: line items with svc_id and platform_id of their own. */
  readonly lineItems: 'none' | 'plain' | 'ids';
  /** Builds the platform's fields of one record, without the common ones (svc_id, platform_id, …). */
  readonly build: (draw: Draw, dates: PlatformDates) => JsonObject;
}

/** A data model with its fields, the same in V3 and V4. */
export interface ModelShape extends ModelPlan {
  /** The platform's fields. */
  readonly fields: Readonly<Record<string, FieldKind>>;
  /** Whether the model has a creation date on the platform. */
  readonly hasCreationDate: boolean;
}

/** Kinds of fields by name, in all models; every other field is text. */
const KINDS: readonly (readonly [FieldKind, RegExp])[] = [
  ['timestamp', /_(at|date)$/],
  ['number', /(^|_)(amount|total|discount|credit|due|rate|probability)$/],
  ['integer', /^people_count$/],
  ['decimal', /^unit_price$/],
  ['texts', /^bill_ids$/],
];

function kindOf(field: string): FieldKind {
  return KINDS.find(([, names]) => names.test(field))?.[0] ?? 'text';
}

function toShape(plan: ModelPlan): ModelShape {
  const names = Object.keys(plan.build(new Draw(0), UNDATED));
  return {
    ...plan,
    fields: Object.fromEntries(names.map((name) => [name, kindOf(name)])),
    hasCreationDate: names.includes('created_at') || names.includes('org_created_at'),
  };
}

const PLANS: readonly ModelPlan[] = [
  {
    v3: 'accounting/bill_credit_notes',
    v4: 'bill_credit_notes',
    weight: 12,
    expand: ['currency', 'line_items', 'contact', 'payments'],
    lineItems: 'ids',
    build: (draw, dates) => {
      const total = drawAmount(draw);
      return {
        contact_id: drawReference(draw),
        document_number: drawCode(draw, 'CN-'),
        total_amount: total,
        remaining_credit: cents(total * draw.pick([0.25, 0.5, 1])),
        posted_date: dates.posted,
        currency_id: drawCurrency(draw),
        memo: drawText(draw),
        status: draw.pick(['open', 'applied', 'voided']),
        bill_ids: Array.from({ length: draw.below(3) }, () => String(1 + draw.below(99_999))),
        updated_at: dates.updated,
        tax_amount: cents(total / 6),
      };
    },
  },
  {
    // The specification names only the route; the fields follow the credit note's.
    v3: 'accounting/invoices',
    v4: 'invoices',
    weight: 30,
    expand: ['currency', 'line_items', 'contact', 'payments'],
    lineItems: 'ids',
    build: (draw, dates) => {
      const net = drawAmount(draw);
      const total = cents(net * 1.2);
      return {
        contact_id: drawReference(draw),
        document_number: drawCode(draw, 'INV-'),
        posted_date: dates.posted,
        due_date: dates.posted,
        sub_total: net,
        tax_amount: cents(total - net),
        total_amount: total,
        amount_due: draw.pick([0, total, cents(total / 2)]),
        currency_id: drawCurrency(draw),
        memo: drawText(draw),
        status: draw.pick(['draft', 'open', 'paid', 'voided']),
        created_at: dates.created,
        updated_at: dates.updated,
      };
    },
  },
  {
    v3: 'accounting/company_info',
    v4: 'company_info',
    weight: 0,
    expand: [],
    lineItems: 'none',
    build: (draw, dates) => ({
      name: drawName(draw),
      legal_name: draw.maybe(0.2, () => drawName(draw)),
      tax_number: drawCode(draw, 'VAT'),
      registration_number: draw.maybe(0.3, () => drawCode(draw, 'HRB ')),
      base_currency: drawCurrency(draw),
      fiscal_start_at: dates.created,
      org_created_at: dates.created,
      updated_at: dates.updated,
    }),
  },
  {
    v3: 'payments/items',
    v4: 'payment_items',
    weight: 14,
    expand: [],
    lineItems: 'none',
    build: (draw, dates) => ({
      created_at: dates.created,
      updated_at: dates.updated,
      name: drawName(draw),
      description: drawText(draw),
      code: drawCode(draw, 'SKU-'),
      unit_price: drawAmount(draw).toFixed(2),
      currency_id: drawCurrency(draw),
      status: draw.pick(['active', 'archived']),
    }),
  },
  {
    v3: 'payments/orders',
    v4: 'payment_orders',
    weight: 12,
    expand: [],
    lineItems: 'none',
    build: (draw, dates) => {
      const amount = drawAmount(draw);
      return {
        created_at: dates.created,
        reference: drawCode(draw, 'ORD/'),
        amount,
        amount_due: draw.pick([0, amount, cents(amount / 2)]),
        status: draw.pick(['pending', 'paid', 'refunded']),
        currency_id: drawCurrency(draw),
      };
    },
  },
  {
    v3: 'payments/tax_rates',
    v4: 'tax_rates',
    weight: 5,
    expand: [],
    lineItems: 'none',
    build: (draw, dates) => {
      const percent = draw.pick([0, 5, 5.5, 7.7, 19, 20, 25]);
      return {
        created_at: dates.created,
        updated_at: dates.updated,
        name: `VAT ${percent} % (${drawCode(draw, 'Z-')})`,
        description: drawText(draw),
        rate: percent / 100,
      };
    },
  },
  {
    v3: 'ecommerce/orders',
    v4: 'ecommerce_orders',
    weight: 12,
    expand: ['line_items'],
    lineItems: 'plain',
    build: (draw, dates) => {
      const net = drawAmount(draw);
      const discount = draw.pick([0, cents(net / 10)]);
      const shipping = draw.pick([0, 4.9, cents(net / 20)]);
      const total = cents((net - discount) * 1.2 + shipping);
      const number = drawCode(draw, '#');
      return {
        currency_id: drawCurrency(draw),
        reference: drawCode(draw, 'WEB-'),
        created_at: dates.created,
        updated_at: dates.updated,
        order_name: number,
        order_number: number,
        description: drawText(draw),
        total_discount: discount,
        sub_total: net,
        tax_amount: cents((net - discount) * 0.2),
        total_amount: total,
        amount_due: draw.pick([0, total]),
        shipping_amount: shipping,
        order_status: draw.pick(['open', 'closed', 'cancelled']),
        payment_status: draw.pick(['paid', 'pending', 'refunded']),
        customer_id: drawReference(draw),
      };
    },
  },
  {
    v3: 'crm/companies',
    v4: 'crm_companies',
    weight: 10,
    expand: ['phone_numbers', 'addresses', 'external_links', 'company'],
    lineItems: 'none',
    build: (draw, dates) => ({
      name: drawName(draw),
      description: drawText(draw),
      industry: draw.maybe(0.3, () => draw.pick(['Retail', 'Häuserbau', '製造業', 'Food & drink'])),
      people_count: draw.maybe(0.2, () => 1 + draw.below(5000)),
      created_at: dates.created,
      updated_at: dates.updated,
    }),
  },
  {
    v3: 'crm/stages',
    v4: 'stages',
    weight: 5,
    expand: ['pipeline'],
    lineItems: 'none',
    build: (draw, dates) => ({
      name: `${draw.pick(['Lead', 'Verhandlung', '契約', 'Won', 'Lost'])} ${drawCode(draw, '')}`,
      status: draw.pick(['open', 'won', 'lost']),
      deal_probability: draw.maybe(0.2, () => draw.below(101) / 100),
      pipeline_id: drawReference(draw),
      created_at: dates.created,
      updated_at: dates.updated,
    }),
  },
];

/** The data models of the service. Their order affects the data of a seed. */
export const MODELS: readonly ModelShape[] = PLANS.map(toShape);
