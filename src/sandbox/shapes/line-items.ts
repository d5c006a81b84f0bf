import type { JsonObject } from '../json.js';
import type { Draw } from '../random.js';
import { cents, drawAmount, drawReference, drawText } from './shape.js';

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

/** The platform's fields of a line item of an accounting document; its ids are the caller's. */
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
