/**
 * What is known of HTTP clients and JSON readers, as tables: how the address of a request becomes a response, and a
 * response the envelope. What is not in a table is not followed, and nothing that depends on it is rewritten.
 */

/** What a value is, on the way from an address to the envelope. */
export type ValueState =
  | 'url'
  | 'client'
  | 'builder'
  | 'request'
  | 'response'
  /** The response of axios and its like: `data` is the envelope. */
  | 'parsed'
  | 'content'
  | 'text'
  | 'document'
  | 'body';

/** What a value becomes: its next state, or null where the result contains nothing of the envelope. */
interface Steps {
  readonly members?: Readonly<Record<string, ValueState | null>>;
  readonly calls?: Readonly<Record<string, ValueState | null>>;
  /** Functions that the value is passed to, by their text before the arguments. */
  readonly into?: readonly (readonly [callee: RegExp, state: ValueState])[];
}

/** Members and calls whose results contain nothing of the envelope. */
const nothing = (names: string): Readonly<Record<string, null>> =>
  Object.fromEntries(names.split(' ').map((name) => [name, null]));

const SCRIPT: Partial<Record<ValueState, Steps>> = {
  response: {
    members: nothing('ok status statusText headers redirected'),
    calls: { json: 'body', text: 'text', clone: 'response' },
  },
  parsed: { members: { data: 'body', ...nothing('status statusText headers') } },
  text: { into: [[/^JSON\.parse$/, 'body']] },
};

/** What a value becomes, by language and state. */
export const STEPS: Readonly<Record<string, Partial<Record<ValueState, Steps>>>> = {
  typescript: SCRIPT,
  javascript: SCRIPT,
  python: {
    response: {
      members: { text: 'text', content: 'text', ...nothing('status_code ok headers reason elapsed status') },
      calls: { json: 'body', raise_for_status: 'response', read: 'text', ...nothing('close getcode') },
      into: [[/^json\.load$/, 'body']],
    },
    text: { calls: { decode: 'text' }, into: [[/^json\.loads$/, 'body']] },
  },
  ruby: {
    response: { calls: { body: 'text', read: 'text', ...nothing('code message is_a? status') } },
    text: { into: [[/^JSON\.parse!?$/, 'body']] },
  },
  php: { text: { into: [[/^\\?json_decode$/, 'body']] } },
  java: {
    builder: {
      calls: {
        header: 'builder',
        setHeader: 'builder',
        headers: 'builder',
        timeout: 'builder',
        version: 'builder',
        GET: 'builder',
        build: 'request',
      },
    },
    request: { into: [[/\bsend$/, 'response']] },
    response: { calls: { body: 'text', ...nothing('statusCode headers') } },
    text: { into: [[/\breadTree$/, 'body']] },
  },
  csharp: {
    response: {
      members: { Content: 'content', ...nothing('StatusCode IsSuccessStatusCode Headers ReasonPhrase') },
      calls: { EnsureSuccessStatusCode: 'response', ConfigureAwait: 'response', Dispose: null },
    },
    content: { calls: { ReadAsStringAsync: 'text' } },
    text: {
      calls: { ConfigureAwait: 'text' },
      into: [
        [/^JsonDocument\.Parse$/, 'document'],
        [/^(JsonNode|JObject|JToken)\.Parse$/, 'body'],
        [/^JsonSerializer\.Deserialize<(JsonElement|JsonNode|JsonObject)>$/, 'body'],
      ],
    },
    document: { members: { RootElement: 'body' }, calls: { Dispose: null } },
  },
  go: {
    response: { members: { Body: 'content', ...nothing('StatusCode Status Header') } },
    content: { calls: { Close: null } },
  },
};

/** How the envelope is read: by the name of a method with one argument. Members and indexes are read in every language. */
export const GETTERS: Readonly<Record<string, RegExp>> = {
  python: /^get$/,
  ruby: /^fetch$/,
  java: /^(get|path|required)$/,
  csharp: /^GetProperty$/,
};

/** A call that sends a request to its first argument. */
export interface RequestForm {
  readonly languages: RegExp;
  /** The text before the arguments. */
  readonly callee: RegExp;
  /** Packages of which one must provide the first name of the callee; null: any origin. */
  readonly packages: RegExp | null;
  /** Whether the callee may be used without being imported. */
  readonly isGlobal: boolean;
  readonly result: ValueState;
  /** Names of further arguments, and keys of objects among them, that do not change what is requested. */
  readonly options: RegExp;
  /** Whether the second argument is an object of such options. */
  readonly hasOptions: boolean;
  /** Whether further arguments without a name are headers, contexts and the like. */
  readonly hasExtras: boolean;
}

const FETCH_OPTIONS =
  /^(headers|signal|cache|redirect|credentials|mode|keepalive|next|dispatcher|agent|timeout)$/;
const AXIOS_OPTIONS =
  /^(headers|params|timeout|signal|auth|validateStatus|httpAgent|httpsAgent|proxy|withCredentials|maxRedirects)$/;
const PYTHON_OPTIONS =
  /^(headers|params|timeout|auth|cookies|verify|cert|proxies|allow_redirects|follow_redirects)$/;
const SCRIPTS = /^(typescript|javascript)$/;
const PYTHON = /^python$/;
/** A form with what most forms have in common. */
function form(
  languages: RegExp,
  callee: RegExp,
  result: ValueState,
  more: Partial<RequestForm> = {},
): RequestForm {
  const isGlobal = more.packages === undefined;
  const usual = { packages: null, isGlobal, options: /^$/, hasOptions: false, hasExtras: false };
  return { ...usual, languages, callee, result, ...more };
}

const OF_AXIOS = { options: AXIOS_OPTIONS, hasOptions: true };
const OF_RUBY = { hasExtras: true };

/** The calls that are known to send a request. */
export const REQUEST_FORMS: readonly RequestForm[] = [
  form(SCRIPTS, /^(?:(?:globalThis|window|self)\.)?fetch$/, 'response', {
    packages: /^(node-fetch|cross-fetch|isomorphic-fetch|undici|whatwg-fetch)$/,
    isGlobal: true,
    options: FETCH_OPTIONS,
    hasOptions: true,
  }),
  form(SCRIPTS, /^axios\.(get|head)$/, 'parsed', { packages: /^axios$/, ...OF_AXIOS }),
  form(PYTHON, /^(requests|httpx)\.(get|head)$/, 'response', {
    packages: /^(requests|httpx)$/,
    options: PYTHON_OPTIONS,
  }),
  form(PYTHON, /^(urllib\.request\.)?urlopen$/, 'response', {
    packages: /^urllib(\.request)?$/,
    options: /^timeout$/,
  }),
  form(/^ruby$/, /^URI\.open$/, 'response', OF_RUBY),
  form(/^ruby$/, /^Net::HTTP\.get$/, 'text', OF_RUBY),
  form(/^ruby$/, /^Net::HTTP\.get_response$/, 'response', OF_RUBY),
  form(/^php$/, /^\\?file_get_contents$/, 'text'),
  form(/^java$/, /^HttpRequest\s*\.\s*newBuilder$/, 'builder'),
  form(/^csharp$/, /\.GetStringAsync$/, 'text'),
  form(/^csharp$/, /\.GetAsync$/, 'response'),
  form(/^go$/, /^http\.(Get|Head)$/, 'response'),
];

/** A call that makes a client with a base address, and the calls of that client that send requests. */
export interface ClientForm {
  readonly languages: RegExp;
  readonly callee: RegExp;
  readonly base: RegExp;
  readonly options: RegExp;
  readonly sends: RequestForm;
}

/** The calls that are known to create a client. */
export const CLIENT_FORMS: readonly ClientForm[] = [
  {
    languages: SCRIPTS,
    callee: /^axios\.create$/,
    base: /^baseURL$/,
    options:
      /^(baseURL|headers|timeout|auth|httpAgent|httpsAgent|proxy|withCredentials|maxRedirects|validateStatus)$/,
    sends: form(SCRIPTS, /\.(get|head)$/, 'parsed', OF_AXIOS),
  },
  {
    languages: PYTHON,
    callee: /^httpx\.(Client|AsyncClient)$/,
    base: /^base_url$/,
    options: /^(base_url|headers|timeout|auth|cookies|verify|cert|follow_redirects)$/,
    sends: form(PYTHON, /\.(get|head)$/, 'response', { options: PYTHON_OPTIONS }),
  },
];

/** Calls that convert a text to an address object or back. */
export const MAKES_URL = /^(new\s+)?(URL|Uri|URI|URI\.create|URI\.parse|str|String)$/;

/** Declared types that say nothing about the envelope, and so need no change. */
export const PLAIN_TYPES =
  /^:?\s*(var|val|let|dynamic|any|object|Object|String|string|Response|HttpResponse<String>|HttpRequest|URI|Uri|URL|JsonNode|JsonElement|JsonDocument|JObject|JToken|JSONObject|HttpResponseMessage|dict|str|(requests|httpx)\.Response)\??$/;
