import { BILL_CREDIT_NOTES, COMPANY_INFO, INVOICES } from './accounting.js';
import { CRM_COMPANIES, CRM_STAGES, ECOMMERCE_ORDERS } from './commerce.js';
import { PAYMENT_ITEMS, PAYMENT_ORDERS, TAX_RATES } from './payments.js';
import type { ModelShape } from './shape.js';

/** The data models of the service; their order is part of what a seed means. */
export const MODELS: readonly ModelShape[] = [
  BILL_CREDIT_NOTES,
  INVOICES,
  COMPANY_INFO,
  PAYMENT_ITEMS,
  PAYMENT_ORDERS,
  TAX_RATES,
  ECOMMERCE_ORDERS,
  CRM_COMPANIES,
  CRM_STAGES,
];
