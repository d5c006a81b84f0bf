import type { JsonObject } from '../json.js';
import type { Draw } from '../random.js';
import {
  cents,
  drawAmount,
  drawCode,
  drawCurrency,
  drawName,
  drawText,
  type ModelShape,
  type PlatformDates,
} from './shape.js';

export const PAYMENT_ITEMS: ModelShape = {
  v3: 'payments/items',
  v4: 'payment_items',
  weight: 14,
  fields: {
    created_at: 'timestamp',
    updated_at: 'timestamp',
    name: 'text',
    description: 'text',
    code: 'text',
    unit_price: 'decimal',
    currency_id: 'text',
    status: 'text',
  },
  expand: [],
  lineItems: 'none',
  hasCreationDate: true,
  build(draw: Draw, dates: PlatformDates): JsonObject {
    return {
      created_at: dates.created,
      updated_at: dates.updated,
      name: drawName(draw),
      description: drawText(draw),
      code: drawCode(draw, 'SKU-'),
      unit_price: drawAmount(draw).toFixed(2),
      currency_id: drawCurrency(draw),
      status: draw.pick(['active', 'archived']),
    };
  },
};

export const PAYMENT_ORDERS: ModelShape = {
  v3: 'payments/orders',
  v4: 'payment_orders',
  weight: 12,
  fields: {
    created_at: 'timestamp',
    reference: 'text',
    amount: 'number',
    amount_due: 'number',
    status: 'text',
    currency_id: 'text',
  },
  expand: [],
  lineItems: 'none',
  hasCreationDate: true,
  build(draw: Draw, dates: PlatformDates): JsonObject {
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
};

export const TAX_RATES: ModelShape = {
  v3: 'payments/tax_rates',
  v4: 'tax_rates',
  weight: 5,
  fields: {
    created_at: 'timestamp',
    updated_at: 'timestamp',
    name: 'text',
    description: 'text',
    rate: 'number',
  },
  expand: [],
  lineItems: 'none',
  hasCreationDate: true,
  build(draw: Draw, dates: PlatformDates): JsonObject {
    const percent = draw.pick([0, 5, 5.5, 7.7, 19, 20, 25]);
    return {
      created_at: dates.created,
      updated_at: dates.updated,
      name: `VAT ${percent} % (${drawCode(draw, 'Z-')})`,
      description: drawText(draw),
      rate: percent / 100,
    };
  },
};
