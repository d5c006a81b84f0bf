import { placeOf } from '../facts.js';
import type { Rule } from './rule.js';

export const baseUrl: Rule = {
  id: 'base-url',
  title: 'Address of V3',
  message: 'This is the address of V3. V4 has one address for all regions.',
  v4: 'v4.baseUrl of the configuration; routes then begin with /v4/',
  find: ({ sites, path, settings }) =>
    sites.flatMap((site) => {
      const { url, certainty } = site;
      if (
        url.base === null ||
        certainty === null ||
        (url.generation !== 'v3' && url.generation !== 'like_v3')
      )
        return [];
      const start = placeOf(site, path, url.base.host);
      const v4 = settings.v4Url === null ? {} : { v4: settings.v4Url };
      return start === null ? [] : [{ start, certainty, ...v4 }];
    }),
};
