import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parseConfigValue } from '../../src/config/load-config.js';
import { type FixPlan, planFix } from '../../src/scan/fix/fix-files.js';
import { buildScanSettings, type FixSettings } from '../../src/scan/scan-settings.js';
import { SyntaxParser } from '../../src/scan/syntax.js';

const config = parseConfigValue(
  {
    v3: {
      regions: {
        eu: { baseUrl: 'https://eu.ledger.example/v3' },
        us: { baseUrl: 'https://us.ledger.example/v3' },
      },
    },
    v4: { baseUrl: 'https://api.ledger.example/' },
    models: [
      { v3: 'accounting/invoices', v4: 'invoices' },
      { v3: 'crm/stages', v4: null },
    ],
  },
  '/x/svc-migrate.config.json',
  0,
);
const parser = await SyntaxParser.create();
const root = mkdtempSync(join(tmpdir(), 'fix-units-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const SAME: FixSettings = { companies: { areSame: true, v4Ids: {} }, isFixing: true, isMarking: false };

let cases = 0;
async function fix(files: Readonly<Record<string, string>>, settings = SAME): Promise<FixPlan> {
  cases += 1;
  const folder = join(root, String(cases));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const scan = { paths: ['.'], folder, ownFiles: [], settings: buildScanSettings(config, []) };
  const io = { isStopped: () => false, onProgress: () => {} };
  return planFix({ scan, fix: settings, failOn: 'certain' }, io, parser);
}

const V3 = 'https://eu.ledger.example/v3';
const LIST = `${V3}/accounting/invoices`;
const ONE = `${LIST}?svc_company_id[eq]=7`;
const V4_ONE = 'https://api.ledger.example/v4/core/companies/7/invoices';
const GET = `const page = await (await fetch('${ONE}')).json();`;

const REFUSED: readonly (readonly [reason: string, what: string, file: string, code: string])[] = [
  ['no_company', 'no company', 'a.ts', `const r = await fetch('${LIST}?limit=1');\nexport const ok = r.ok;`],
  ['company_filter', 'several companies', 'a.ts', `await fetch('${LIST}?svc_company_id[in]=7,8');`],
  ['company_filter', 'two filters', 'a.ts', `await fetch('${ONE}&svc_company_id[eq]=8');`],
  ['model', 'a model that V4 has not', 'a.ts', `await fetch('${V3}/crm/stages?svc_company_id[eq]=7');`],
  ['record', 'a record by its id', 'a.ts', `await fetch('${LIST}/12?svc_company_id[eq]=7');`],
  ['record', 'a filter on an id of V3', 'a.ts', `await fetch('${ONE}&svc_id[eq]=12');`],
  [
    'address_built',
    'a record by a variable',
    'a.ts',
    `await fetch(\`${LIST}/\${id}?svc_company_id[eq]=7\`);`,
  ],
  ['parameter', 'a parameter that V4 may not honour', 'a.ts', `await fetch('${ONE}&return_count=true');`],
  ['parameter', 'an unknown parameter', 'a.ts', `await fetch('${ONE}&page=2');`],
  ['address_built', 'a query that goes on elsewhere', 'a.ts', `await fetch('${ONE}' + rest);`],
  [
    'address_built',
    'a company id that goes on in a constant',
    'a.ts',
    `const rest = '7';\nawait fetch('${ONE}' + rest);`,
  ],
  [
    'address_built',
    'a path that goes on in a constant',
    'a.ts',
    `const rest = '/12';\nawait fetch('${ONE}' + rest);`,
  ],
  ['address_built', 'a query with a part in it', 'a.ts', `await fetch(\`${ONE}\${rest}&limit=1\`);`],
  ['address_built', 'a fragment', 'a.ts', `await fetch('${ONE}#top');`],
  [
    'address_built',
    'a region that varies',
    'a.ts',
    `await fetch(\`https://\${region}.ledger.example/v3/accounting/invoices?svc_company_id[eq]=7\`);`,
  ],
  ['method', 'a POST', 'a.ts', `await fetch('${ONE}', { method: 'POST' });`],
  ['parameters_unseen', 'options from elsewhere', 'a.ts', `await fetch('${ONE}', options);`],
  ['parameters_unseen', 'spread options', 'a.ts', `await fetch('${ONE}', { ...options });`],
  ['parameters_unseen', 'a method from elsewhere', 'a.ts', `await fetch('${ONE}', { body });`],
  [
    'parameters_unseen',
    'spread parameters',
    'a.ts',
    `import axios from 'axios';\nawait axios.get('${ONE}', { params: { ...more } });`,
  ],
  [
    'request_form',
    'a wrapper of the project',
    'a.ts',
    `import { load } from './load';\nawait load('${ONE}');`,
  ],
  ['request_form', 'a fetch of its own', 'a.ts', `import { fetch } from './fetch';\nawait fetch('${ONE}');`],
  [
    'request_form',
    'an axios that is passed in',
    'a.ts',
    `export async function f(axios) { await axios.get('${ONE}'); }`,
  ],
  [
    'request_form',
    'a parameter with the name of an import',
    'a.ts',
    `import axios from 'axios';\nexport async function f(axios: Api) { await axios.get('${ONE}'); }`,
  ],
  [
    'request_form',
    'a parameter of Python with the name of an import',
    'a.py',
    `import requests\ndef f(requests):\n    requests.get("${ONE}")\n`,
  ],
  [
    'request_form',
    'an import of Python that is replaced',
    'a.py',
    `import requests\nrequests = Client()\ndef f():\n    requests.get("${ONE}")\n`,
  ],
  [
    'address_used',
    'an address of Python that an inner function changes',
    'a.py',
    `import requests\ndef f():\n    url = "${ONE}"\n    def g():\n        nonlocal url\n        url = other()\n    g()\n    return requests.get(url).ok\n`,
  ],
  [
    'response_used',
    'a body of PHP that is read by its name',
    'a.php',
    `<?php\nfunction f() { $page = json_decode(file_get_contents('${ONE}')); echo $page->next; return view('x', compact('page')); }\n`,
  ],
  [
    'response_used',
    'a body with another one in its place after an error',
    'a.ts',
    `export {};\nconst page = await fetch('${ONE}').then((r) => r.json()).catch(() => ({ data: [] }));\nuse(page.data);`,
  ],
  ...['catalog.insert', 'this.eventLog.append', 'throwOnError', 'logger.attach'].map(
    (save) => ['response_used', `a body for ${save}`, 'a.ts', `export {};\n${GET}\n${save}(page);`] as const,
  ),
  [
    'response_used',
    'a body that is returned',
    'a.ts',
    `export const f = async () => { ${GET} return page; };`,
  ],
  ['response_used', 'a body that is passed on', 'a.ts', `${GET}\nsave(page);`],
  ['response_used', 'a body under a name that varies', 'a.ts', `${GET}\nuse(page[key]);`],
  ['response_used', 'a member that the envelope has not', 'a.ts', `${GET}\nuse(page.error);`],
  ['response_used', 'a body that is looped over', 'a.ts', `${GET}\nfor (const x of page) use(x);`],
  ['response_used', 'a body in an object', 'a.ts', `${GET}\nsave({ page });`],
  ['response_used', 'a body that is copied', 'a.ts', `${GET}\nsave({ ...page });`],
  ['response_used', 'a body that is changed', 'a.ts', `${GET}\npage.data = [];\ndelete page.next;`],
  [
    'response_used',
    'a variable with two values',
    'a.ts',
    `let page = other();\npage = await (await fetch('${ONE}')).json();\nuse(page.data);`,
  ],
  [
    'response_used',
    'an exported body',
    'a.ts',
    `export const page = await (await fetch('${ONE}')).json();\nuse(page.data);`,
  ],
  [
    'response_used',
    'a pattern with the rest',
    'a.ts',
    `const { data, ...rest } = await (await fetch('${ONE}')).json();`,
  ],
  [
    'response_used',
    'a promise that is passed on',
    'a.ts',
    `const p = fetch('${ONE}').then((r) => r.json());\nsave(p);`,
  ],
  [
    'response_used',
    'a callback from elsewhere',
    'a.ts',
    `fetch('${ONE}').then(toJson).then((page) => use(page.data));`,
  ],
  [
    'response_used',
    'a callback with a pattern in a pattern',
    'a.ts',
    `import axios from 'axios';\naxios.get('${ONE}').then(({ data: { data } }) => use(data));`,
  ],
  [
    'response_used',
    'a pattern in a pattern',
    'a.ts',
    `import axios from 'axios';\nconst { data: { data } } = await axios.get('${ONE}');`,
  ],
  [
    'response_used',
    'one of several responses',
    'a.ts',
    `const [a] = await Promise.all([fetch('${ONE}')]);\nuse(a.ok);`,
  ],
  [
    'response_typed',
    'a type of its own',
    'a.ts',
    `const page: Page = await (await fetch('${ONE}')).json();\nuse(page.data);`,
  ],
  [
    'response_typed',
    'a cast',
    'a.ts',
    `const page = (await (await fetch('${ONE}')).json()) as Page;\nuse(page.data);`,
  ],
  ['address_used', 'an exported address', 'a.ts', `export const url = '${ONE}';\nawait fetch(url);`],
  [
    'address_used',
    'an address with another use',
    'a.ts',
    `const url = '${ONE}';\nawait fetch(url);\ncache.set(url, 1);`,
  ],
  [
    'address_used',
    'a default of an address',
    'a.ts',
    `const base = env.BASE ?? '${V3}';\nawait fetch(\`\${base}/accounting/invoices?svc_company_id[eq]=7\`);`,
  ],
  [
    'address_used',
    'a parameter with a default',
    'a.ts',
    `async function f(base = '${V3}') { await fetch(\`\${base}/accounting/invoices?svc_company_id[eq]=7\`); }`,
  ],
  [
    'address_used',
    'a client with an interceptor',
    'a.ts',
    `import axios from 'axios';\nconst c = axios.create({ baseURL: '${V3}' });\nc.interceptors.response.use((r) => r.data);\nawait c.get('/accounting/invoices?svc_company_id[eq]=7');`,
  ],
  [
    'address_used',
    'a client with parameters of its own',
    'a.ts',
    `import axios from 'axios';\nconst c = axios.create({ baseURL: '${V3}', params: all });\nawait c.get('/accounting/invoices?svc_company_id[eq]=7');`,
  ],
  [
    'address_used',
    'an exported client',
    'a.ts',
    `import axios from 'axios';\nexport const c = axios.create({ baseURL: '${V3}' });\nawait c.get('/accounting/invoices?svc_company_id[eq]=7');`,
  ],
  [
    'address_shared',
    'a client with a route that stays',
    'a.ts',
    `import axios from 'axios';\nconst c = axios.create({ baseURL: '${V3}' });\nawait c.get('/accounting/invoices?svc_company_id[eq]=7');\nawait c.get('/crm/stages?svc_company_id[eq]=7');`,
  ],
  [
    'likely',
    'a host that is not shown',
    'a.ts',
    `await fetch(\`\${base}/accounting/invoices?svc_company_id[eq]=7\`);`,
  ],
  [
    'ignored',
    'what a comment calls intended',
    'a.ts',
    `// svc-migrate-ignore: the archive stays\nawait fetch('${ONE}');`,
  ],
  ['encoding', 'a file that is not UTF-8', 'a.ts', `// \uFFFD\nawait fetch('${ONE}');`],
  [
    'address_used',
    'a constant of Python that another file names',
    'a.py',
    `import requests\nBASE = "${V3}"\ndef f():\n    return requests.get(f"{BASE}/accounting/invoices?svc_company_id[eq]=7").ok\n`,
  ],
  [
    'parameters_unseen',
    'parameters of Python from elsewhere',
    'a.py',
    `import requests\ndef f(p):\n    return requests.get("${LIST}", params=p).ok\n`,
  ],
  [
    'response_used',
    'a response of Python as a result',
    'a.py',
    `import requests\ndef f():\n    return requests.get("${ONE}")\n`,
  ],
  [
    'request_form',
    'a module named requests',
    'a.py',
    `from mine import requests\ndef f():\n    requests.get("${ONE}")\n`,
  ],
  [
    'response_used',
    'a text of PHP with the body in it',
    'a.php',
    `<?php\n$page = json_decode(file_get_contents('${ONE}'), true);\necho "all: $page[data]";\n`,
  ],
  [
    'parameters_unseen',
    'a context of PHP that posts',
    'a.php',
    `<?php\n$c = stream_context_create(['http' => ['method' => 'POST']]);\nfile_get_contents('${ONE}', false, $c);\n`,
  ],
  ['response_used', 'a block of Ruby', 'a.rb', `URI.open("${ONE}") { |f| puts f.read }\n`],
  [
    'response_used',
    'the value of a method of Ruby',
    'a.rb',
    `def page\n  JSON.parse(URI.open("${ONE}").read)\nend\n`,
  ],
  [
    'response_used',
    'a body of Go that is decoded',
    'a.go',
    `package a\nfunc f() {\n\tres, _ := http.Get("${ONE}")\n\tdecode(res.Body)\n}\n`,
  ],
  [
    'response_used',
    'another type of C#',
    'a.cs',
    `class A { async Task F() { var page = JsonSerializer.Deserialize<Page>(await http.GetStringAsync("${ONE}")); Use(page.Data); } }\n`,
  ],
  [
    'response_used',
    'a POST of Java',
    'A.java',
    `class A { void f() { var r = HttpRequest.newBuilder(URI.create("${ONE}")).POST(b).build(); http.send(r, h).statusCode(); } }\n`,
  ],
];

describe('a request is left as it is', () => {
  it.each(REFUSED)('%s: %s', async (reason, _what, file, code) => {
    const more = { 'other.py': 'from a import BASE\nprint(BASE)\n' };
    const { units, files } = await fix({ [file]: code, ...(file === 'a.py' ? more : {}) });
    expect(files).toEqual([]);
    expect(units.map((one) => one.reason)).toContain(reason);
    expect(units.map((one) => one.reason)).not.toContain(null);
  });
});

const PATCHED: readonly (readonly [what: string, file: string, code: string, patched: string])[] = [
  [
    'a chain of promises',
    'a.ts',
    `fetch('${ONE}').then((r) => r.json()).then((page) => use(page.data));`,
    `fetch('${V4_ONE}').then((r) => r.json()).then((page) => use(page.data.data));`,
  ],
  [
    'a handler of errors whose result nobody uses',
    'a.ts',
    `fetch('${ONE}').then((r) => r.json()).then((page) => use(page.data)).catch(report);`,
    `fetch('${V4_ONE}').then((r) => r.json()).then((page) => use(page.data.data)).catch(report);`,
  ],
  [
    'a body that is logged',
    'a.ts',
    `export {};\n${GET}\nthis.logger.debug(page);\nlog.info(page);\nuse(page.data, new SyncError(page));`,
    `export {};\nconst page = await (await fetch('${V4_ONE}')).json();\nthis.logger.debug(page);\nlog.info(page);\nuse(page.data.data, new SyncError(page));`,
  ],
  [
    'a pattern',
    'a.ts',
    `const { data, next } = await (await fetch('${ONE}')).json();`,
    `const { data: { data, next } } = await (await fetch('${V4_ONE}')).json();`,
  ],
  [
    'a pattern of a callback',
    'a.ts',
    `fetch('${ONE}').then((r) => r.json()).then(({ data }) => use(data));`,
    `fetch('${V4_ONE}').then((r) => r.json()).then(({ data: { data } }) => use(data));`,
  ],
  [
    'a callback with a pattern of other names',
    'a.ts',
    `import axios from 'axios';\naxios.get('${ONE}').then(({ data: page }) => use(page.data));`,
    `import axios from 'axios';\naxios.get('${V4_ONE}').then(({ data: page }) => use(page.data.data));`,
  ],
  [
    'a pattern in the pattern of the envelope',
    'a.ts',
    `const { data: [first] } = await (await fetch('${ONE}')).json();`,
    `const { data: { data: [first] } } = await (await fetch('${V4_ONE}')).json();`,
  ],
  [
    'an optional member and an index',
    'a.ts',
    `${GET}\nuse(page?.next, page['data'], page\n  .total_count);`,
    `const page = await (await fetch('${V4_ONE}')).json();\nuse(page?.data?.next, page['data']['data'], page\n  .data\n  .total_count);`,
  ],
  [
    'a version apart from the host',
    'a.ts',
    `const HOST = 'https://eu.ledger.example';\nawait fetch(HOST + '/v3/accounting/invoices?svc_company_id[eq]=7');`,
    `const HOST = 'https://api.ledger.example';\nawait fetch(HOST + '/v4/core/companies/7/invoices');`,
  ],
  [
    'an address in a URL',
    'a.ts',
    `const url = new URL('${ONE}');\nawait fetch(url);`,
    `const url = new URL('${V4_ONE}');\nawait fetch(url);`,
  ],
  [
    'an address that is also logged',
    'a.ts',
    `const url = '${ONE}';\nconsole.log(url);\nawait fetch(url);`,
    `const url = '${V4_ONE}';\nconsole.log(url);\nawait fetch(url);`,
  ],
  [
    'parameters of Python',
    'a.py',
    `import requests\ndef f(company):\n    r = requests.get("${LIST}", params={"limit": 5, "svc_company_id[eq]": company})\n    return r.json().get("next")\n`,
    `import requests\ndef f(company):\n    r = requests.get(f"https://api.ledger.example/v4/core/companies/{company}/invoices", params={"limit": 5})\n    return r.json().get("data").get("next")\n`,
  ],
  [
    'symbols of Ruby',
    'a.rb',
    `page = JSON.parse(URI.open("${ONE}").read, symbolize_names: true)\nputs page[:data], page.fetch(:next)\n`,
    `page = JSON.parse(URI.open("${V4_ONE}").read, symbolize_names: true)\nputs page[:data][:data], page.fetch(:data).fetch(:next)\n`,
  ],
];

describe('a request is patched', () => {
  it.each(PATCHED)('%s', async (_what, file, code, patched) => {
    const { files, units } = await fix({ [file]: code });
    expect(files.map(({ after }) => after)).toEqual([patched]);
    expect(units.map(({ reason }) => reason)).toEqual([null]);
  });
});

describe('ids of companies', () => {
  const literal = { 'a.ts': `await fetch('${ONE}');` };
  const variable = { 'a.ts': `await fetch(\`${LIST}?svc_company_id[eq]=\${id}\`);` };
  const pairs = (v4Ids: Readonly<Record<string, string>>): FixSettings => ({
    companies: { areSame: false, v4Ids },
    isFixing: true,
    isMarking: false,
  });

  it('are replaced by those of the pair of their region', async () => {
    const { files } = await fix(
      literal,
      pairs({ [`${V3} 7`]: '3000', 'https://us.ledger.example/v3 7': '9' }),
    );
    expect(files[0]?.after).toBe(
      `await fetch('https://api.ledger.example/v4/core/companies/3000/invoices');`,
    );
  });

  it('stay where the remap has no pair for them', async () => {
    const { files, units } = await fix(literal, pairs({ 'https://us.ledger.example/v3 7': '9' }));
    expect([files, units[0]?.reason]).toEqual([[], 'company_pair']);
  });

  it('stay in variables, whose values nobody sees', async () => {
    const { files, units } = await fix(variable, pairs({ [`${V3} 7`]: '7' }));
    expect([files, units[0]?.reason]).toEqual([[], 'company_variable']);
  });
});
