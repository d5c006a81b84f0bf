import type { Span } from '../parse-url.js';
import { type Address, positionInFile } from '../rule-input.js';
import type { Rule } from './rule.js';

export const baseUrl: Rule = {
  id: 'base-url',
  title: 'Address of V3',
  message: 'This is the address of V3. V4 has one address for all regions.',
  v4: 'v4.baseUrl of the configuration; routes then begin with /v4/',
  find: ({ addresses, path, settings }) =>
    addresses.flatMap((address) => {
      const { url, certainty } = address;
      if (
        url.base === null ||
        certainty === null ||
        (url.generation !== 'v3' && url.generation !== 'like_v3')
      )
        return [];
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
