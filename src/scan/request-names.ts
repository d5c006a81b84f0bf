/** Names by which HTTP clients and servers are recognised. */

/** Options and arguments that hold the address of a request. */
export const URL_KEYS = /^(url|uri|path|endpoint|href|resource|requestUri|route)$/i;
/** Options that hold the base address of a client. */
export const BASE_KEYS =
  /^(base_?(url|uri|path|address)|prefix_?url|url|uri|host|endpoint|server|root_?url|api_?(base|url)|baseEndpoint)$/i;
/** Functions that send a request. */
export const SENDS =
  /^(get|post|put|patch|delete|head|options|request|fetch|send|call|url|uri|open|urlopen|ajax|axios|got|ky|needle|superagent|exchange|retrieve|do|execute|download|stream|query|list|paginate|list_all|page|pages)|(request|fetch|http|json|async|api|client|forobject|forentity|page|pages|all)$/i;
/** Functions that declare a route of a server. */
export const SERVES =
  /^(get|post|put|patch|delete|all|use|route|any|match|handle|handlefunc|map(get|post|put|delete)?|add_(url_rule|route)|path|re_path|url|resources?|namespace|scope|group|mount)$/i;
/** Objects that such functions are called on. */
export const SERVERS =
  /^(app|router|server|fastify|routes?|mux|blueprint|bp|e|r|g|http|\w*router|endpoints|path|re_path)$/i;
