import type { Json, JsonObject } from '../json.js';
import type { Draw } from '../random.js';

/** How a field's values compare in filters; `decimal` is a number carried as text. */
export type FieldKind = 'integer' | 'number' | 'decimal' | 'text' | 'texts' | 'timestamp';

/** A record's dates on its platform as text, null where the platform gave none. */
export interface PlatformDates {
  readonly created: string | null;
  readonly updated: string | null;
  readonly posted: string | null;
}

/** What a data model's records look like, the same in V3 and V4. */
export interface ModelShape {
  /** V3 path, and the model's name everywhere. */
  readonly v3: string;
  /** V4 data model. */
  readonly v4: string;
  /** Share of all records, relative to the other models; 0: one record per company. */
  readonly weight: number;
  /** The platform's fields, those of every record (svc_id, platform_id, …) left out. */
  readonly fields: Readonly<Record<string, FieldKind>>;
  readonly expand: readonly string[];
  /** `ids`: line items with svc_id and platform_id of their own. */
  readonly lineItems: 'none' | 'plain' | 'ids';
  /** False where the model has no date of creation on the platform. */
  readonly hasCreationDate: boolean;
  /** The platform's fields of one record. */
  build(draw: Draw, dates: PlatformDates): JsonObject;
}

/** Rounds to cents. */
export function cents(amount: number): number {
  return Math.round(amount * 100) / 100;
}

/** An amount that two records hardly ever share. */
export function drawAmount(draw: Draw): number {
  return cents((100 + draw.below(9_999_900)) / 100);
}

export function drawCode(draw: Draw, prefix: string): string {
  return `${prefix}${draw.next().toString(36).toUpperCase()}`;
}

/** A reference to another object on the platform, null in a tenth. */
export function drawReference(draw: Draw): string | null {
  return draw.maybe(0.1, () => String(1 + draw.below(99_999)));
}

const CURRENCIES = ['EUR', 'USD', 'GBP', 'SEK', 'JPY', 'PLN', 'ILS'] as const;

export function drawCurrency(draw: Draw): string {
  return draw.pick(CURRENCIES);
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

/** A name with a number, so that two records hardly ever share it. */
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

/** A free text, null in a third. */
export function drawText(draw: Draw): string | null {
  return draw.maybe(0.33, () => draw.pick(SENTENCES));
}

/** A related object as `expand` shows it; it carries ids of its own. */
export function buildRelation(draw: Draw, name: string): Json {
  switch (name) {
    case 'currency':
      return { platform_id: drawCurrency(draw), name: 'Currency', decimals: 2 };
    case 'contact':
    case 'company':
      return { svc_id: 1 + draw.below(900), platform_id: String(1 + draw.below(900)), name: drawName(draw) };
    case 'pipeline':
      return { svc_id: 1 + draw.below(90), platform_id: String(1 + draw.below(90)), name: 'Sales' };
    case 'payments':
      return Array.from({ length: draw.below(3) }, () => ({
        svc_id: 1 + draw.below(900),
        platform_id: String(1 + draw.below(900)),
        amount: drawAmount(draw),
      }));
    case 'phone_numbers':
      return [{ type: 'work', number: `+44 20 ${1_000_000 + draw.below(8_999_999)}` }];
    case 'addresses':
      return [{ type: 'office', street: '1 Rue de l’Église', city: 'Orléans', country: 'FR' }];
    default:
      return [{ type: 'website', url: `https://example.test/${draw.next()}` }];
  }
}
