import type { JsonObject } from '../json.js';
import type { Draw } from '../random.js';
import {
  cents,
  drawAmount,
  drawCode,
  drawCurrency,
  drawName,
  drawReference,
  drawText,
  type ModelShape,
  type PlatformDates,
} from './shape.js';

export const BILL_CREDIT_NOTES: ModelShape = {
  v3: 'accounting/bill_credit_notes',
  v4: 'bill_credit_notes',
  weight: 12,
  fields: {
    contact_id: 'text',
    document_number: 'text',
    total_amount: 'number',
    remaining_credit: 'number',
    posted_date: 'timestamp',
    currency_id: 'text',
    memo: 'text',
    status: 'text',
    bill_ids: 'texts',
    updated_at: 'timestamp',
    tax_amount: 'number',
  },
  expand: ['currency', 'line_items', 'contact', 'payments'],
  lineItems: 'ids',
  hasCreationDate: false,
  build(draw: Draw, dates: PlatformDates): JsonObject {
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
};

/** The specification names only the route; the fields follow the credit note's. */
export const INVOICES: ModelShape = {
  v3: 'accounting/invoices',
  v4: 'invoices',
  weight: 30,
  fields: {
    contact_id: 'text',
    document_number: 'text',
    posted_date: 'timestamp',
    due_date: 'timestamp',
    sub_total: 'number',
    tax_amount: 'number',
    total_amount: 'number',
    amount_due: 'number',
    currency_id: 'text',
    memo: 'text',
    status: 'text',
    created_at: 'timestamp',
    updated_at: 'timestamp',
  },
  expand: ['currency', 'line_items', 'contact', 'payments'],
  lineItems: 'ids',
  hasCreationDate: true,
  build(draw: Draw, dates: PlatformDates): JsonObject {
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
};

export const COMPANY_INFO: ModelShape = {
  v3: 'accounting/company_info',
  v4: 'company_info',
  weight: 0,
  fields: {
    name: 'text',
    legal_name: 'text',
    tax_number: 'text',
    registration_number: 'text',
    base_currency: 'text',
    fiscal_start_at: 'timestamp',
    org_created_at: 'timestamp',
    updated_at: 'timestamp',
  },
  expand: [],
  lineItems: 'none',
  hasCreationDate: true,
  build(draw: Draw, dates: PlatformDates): JsonObject {
    return {
      name: drawName(draw),
      legal_name: draw.maybe(0.2, () => drawName(draw)),
      tax_number: drawCode(draw, 'VAT'),
      registration_number: draw.maybe(0.3, () => drawCode(draw, 'HRB ')),
      base_currency: drawCurrency(draw),
      fiscal_start_at: dates.created,
      org_created_at: dates.created,
      updated_at: dates.updated,
    };
  },
};
