import type { Span } from '../parse-url.js';
import { type Address, positionInFile } from '../rule-input.js';
import { pieceAt } from '../text-pieces.js';
import type { Rule } from './rules.js';

export const route: Rule = {
  id: 'route',
  title: 'Route of V3',
  message: 'This is a V3 route. V4 has the company in the path and no category.',
  v4: '/v4/core/companies/{companyId}/{model}',
  find: ({ addresses, path }) =>
    addresses.flatMap((address) => {
      const found = address.url.route;
      if (found === null || address.certainty === null || !(found.isModelKnown || address.call !== null))
        return [];
      const start = placeOfRoute(address, path);
      const model = found.pair === null ? '{model}' : (found.pair.v4 ?? null);
      const v4 = model === null ? 'not available in V4' : `/v4/core/companies/{companyId}/${model}`;
      const named = found.pair === null ? {} : { route: found.pair.v3 };
      return start === null ? [] : [{ start, certainty: address.certainty, v4, ...named }];
    }),
};

/** A category and a model this close are parts of one route, as in a list that is joined. */
const NEAR = 60;

/** Where the route is written: its literal, the literal of its model within the expression, or the expression. */
function placeOfRoute(address: Address, path: string): number | null {
  const { route: found } = address.url;
  if (found === null) return null;
  const slashes = /^\/*/.exec(address.flat.slice(found.from, found.to))?.[0].length ?? 0;
  const category = positionInFile(address, path, found.from + slashes);
  const model = positionInFile(address, path, found.model.from);
  const apart = found.model.from - found.from - slashes;
  const between = category === null || model === null ? -1 : model - category;
  if (between === apart || (between > 0 && between < NEAR)) return category;
  const inside = [model, category].find((at) => at !== null && at >= address.start && at < address.end);
  if (inside !== undefined && inside !== null) return inside;
  // A literal that holds more than a bare name is where the route is put together.
  if (model !== null && pieceAt(address.text, found.model.from)?.offset !== 0) return model;
  return category === null && model === null ? (address.call === null ? address.start : null) : address.start;
}

export const baseUrl: Rule = {
  id: 'base-url',
  title: 'Address of V3',
  message: 'This is the address of V3. V4 has one address for all regions.',
  v4: 'v4.baseUrl of the configuration; routes then begin with /v4/',
  find: ({ addresses, path, settings }) =>
    addresses.flatMap((address) => {
      const { url, certainty } = address;
      if (url.base === null || certainty === null || (url.kind !== 'v3' && url.kind !== 'like_v3')) return [];
      const start = placeOfHost(address, path, url.base);
      const v4 = settings.v4Url === null ? {} : { v4: settings.v4Url };
      return start === null ? [] : [{ start, certainty, ...v4 }];
    }),
};

/** Where most of the host is written: a region may be filled in from elsewhere. */
function placeOfHost(
  address: Address,
  path: string,
  { host, to }: Span & { readonly host: number },
): number | null {
  let best: { readonly at: number; readonly length: number } | null = null;
  let from = 0;
  for (const piece of address.text) {
    const length = piece.kind === 'literal' ? piece.text.length : 1;
    const [start, end] = [Math.max(from, host), Math.min(from + length, to)];
    if (piece.kind === 'literal' && end - start > (best?.length ?? 0))
      best = { at: start, length: end - start };
    from += length;
  }
  return positionInFile(address, path, best?.at ?? host);
}
