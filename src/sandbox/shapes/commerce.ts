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

export const ECOMMERCE_ORDERS: ModelShape = {
  v3: 'ecommerce/orders',
  v4: 'ecommerce_orders',
  weight: 12,
  fields: {
    currency_id: 'text',
    reference: 'text',
    created_at: 'timestamp',
    updated_at: 'timestamp',
    order_name: 'text',
    order_number: 'text',
    description: 'text',
    total_discount: 'number',
    sub_total: 'number',
    tax_amount: 'number',
    total_amount: 'number',
    amount_due: 'number',
    shipping_amount: 'number',
    order_status: 'text',
    payment_status: 'text',
    customer_id: 'text',
  },
  expand: ['line_items'],
  lineItems: 'plain',
  hasCreationDate: true,
  build(draw: Draw, dates: PlatformDates): JsonObject {
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
};

export const CRM_COMPANIES: ModelShape = {
  v3: 'crm/companies',
  v4: 'crm_companies',
  weight: 10,
  fields: {
    name: 'text',
    description: 'text',
    industry: 'text',
    people_count: 'integer',
    created_at: 'timestamp',
    updated_at: 'timestamp',
  },
  expand: ['phone_numbers', 'addresses', 'external_links', 'company'],
  lineItems: 'none',
  hasCreationDate: true,
  build(draw: Draw, dates: PlatformDates): JsonObject {
    return {
      name: drawName(draw),
      description: drawText(draw),
      industry: draw.maybe(0.3, () => draw.pick(['Retail', 'Häuserbau', '製造業', 'Food & drink'])),
      people_count: draw.maybe(0.2, () => 1 + draw.below(5000)),
      created_at: dates.created,
      updated_at: dates.updated,
    };
  },
};

export const CRM_STAGES: ModelShape = {
  v3: 'crm/stages',
  v4: 'stages',
  weight: 5,
  fields: {
    name: 'text',
    status: 'text',
    deal_probability: 'number',
    pipeline_id: 'text',
    created_at: 'timestamp',
    updated_at: 'timestamp',
  },
  expand: ['pipeline'],
  lineItems: 'none',
  hasCreationDate: true,
  build(draw: Draw, dates: PlatformDates): JsonObject {
    return {
      name: `${draw.pick(['Lead', 'Verhandlung', '契約', 'Won', 'Lost'])} ${drawCode(draw, '')}`,
      status: draw.pick(['open', 'won', 'lost']),
      deal_probability: draw.maybe(0.2, () => draw.below(101) / 100),
      pipeline_id: drawReference(draw),
      created_at: dates.created,
      updated_at: dates.updated,
    };
  },
};
