import { baseUrl, companyFilter, queryParameter, route } from './addresses.js';
import { clientLibrary, webhook } from './clients.js';
import { envelope, recordedResponse } from './envelope.js';
import { graphql } from './graphql.js';
import { hardCodedId } from './ids.js';
import type { Rule } from './rule.js';

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
  clientLibrary,
];
