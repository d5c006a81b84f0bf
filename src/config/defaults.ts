import type { ModelPair } from '../domain.js';

/** Read where no file is named: the first that exists; `init` writes the first. */
export const DEFAULT_CONFIG_FILES = ['svc-migrate.config.jsonc', 'svc-migrate.config.json'] as const;
export const DEFAULT_DATABASE = 'svc-migrate.db';
export const DEFAULT_FIELD_PREFIX = 'svc_';
export const DEFAULT_V3_KEY_ENV = 'SVC_MIGRATE_V3_API_KEY';
export const DEFAULT_V4_KEY_ENV = 'SVC_MIGRATE_V4_API_KEY';

/** Paths of GraphQL on a V3 host. */
export const DEFAULT_GRAPHQL_PATHS = ['/graphql'] as const;

/** Platform dates that decide whether a record is inside the backfill window. */
export const DEFAULT_DATE_FIELDS = ['posted_date', 'created_at', 'updated_at', 'org_created_at'] as const;

const LINE_ITEMS = ['line_items'];

/**
 * The eight V3 models of the specification and invoices. Only `invoices` is a documented V4 name; the
 * others are the last path segment, or a longer name where that would be unclear.
 */
export const DEFAULT_MODELS: readonly ModelPair[] = [
  pair('accounting/bill_credit_notes', 'bill_credit_notes', { expand: LINE_ITEMS, children: LINE_ITEMS }),
  pair('accounting/company_info', 'company_info'),
  pair('accounting/invoices', 'invoices', { expand: LINE_ITEMS, children: LINE_ITEMS, v4Guessed: false }),
  pair('payments/items', 'payment_items'),
  pair('payments/orders', 'payment_orders'),
  pair('payments/tax_rates', 'tax_rates'),
  // The line items of an e-commerce order have no ids of their own.
  pair('ecommerce/orders', 'ecommerce_orders', { expand: LINE_ITEMS }),
  pair('crm/companies', 'crm_companies'),
  pair('crm/stages', 'stages'),
];

/** A model as written in the file: only its V3 path is required. */
interface ModelInput {
  readonly v3: string;
  readonly v4?: string | null | undefined;
  readonly expand?: readonly string[] | undefined;
  readonly children?: readonly string[] | undefined;
}

/** Completes a model of the file from the defaults. */
export function resolveModel(own: ModelInput): ModelPair {
  const { v3 } = own;
  const usual =
    DEFAULT_MODELS.find((model) => model.v3 === v3) ?? pair(v3, v3.slice(v3.lastIndexOf('/') + 1));
  const expand = own.expand ?? usual.expand;
  return {
    v3,
    v4: own.v4 === undefined ? usual.v4 : own.v4,
    expand,
    // Without `expand`, the service does not send a default child field.
    children: own.children ?? usual.children.filter((field) => expand.includes(field)),
    v4Guessed: own.v4 === undefined && usual.v4Guessed,
  };
}

function pair(v3: string, v4: string, more: Partial<ModelPair> = {}): ModelPair {
  return { v3, v4, expand: [], children: [], v4Guessed: true, ...more };
}
