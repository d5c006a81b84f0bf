import { baseUrl, route } from './address.js';
import { clientLibrary } from './client-library.js';
import { companyFilter } from './company-filter.js';
import { envelope } from './envelope.js';
import { graphql } from './graphql.js';
import { hardCodedId } from './hard-coded-id.js';
import { mark } from './mark.js';
import { queryParameter } from './query-parameter.js';
import { recordedResponse } from './recorded-response.js';
import type { Rule } from './rule.js';
import { idWidth, storedId } from './stored-id.js';
import { webhook } from './webhook.js';

/** Every rule, in the order of the output. */
export const RULES: readonly Rule[] = [
  baseUrl,
  route,
  companyFilter,
  queryParameter,
  envelope,
  graphql,
  hardCodedId,
  webhook,
  recordedResponse,
  storedId,
  idWidth,
  clientLibrary,
  mark,
];
