import type { Sandbox } from '../../src/sandbox/start-sandbox.js';

/** A record as JSON gives it, with ids as text so that none loses digits. */
export interface Row {
  readonly svc_id: string;
  readonly svc_company_id: string;
  readonly svc_deleted_at: string | null;
  readonly svc_created_at: string;
  readonly svc_updated_at: string;
  readonly line_items?: readonly Row[];
  readonly [field: string]: unknown;
}

export interface PageBody {
  readonly rows: readonly Row[];
  readonly prev: string | null;
  readonly next: string | null;
  readonly totalCount: number | null;
}

/** Parses JSON with the integers of id fields turned into text. */
export function parseExact(text: string): unknown {
  return JSON.parse(text.replace(/"(svc_id|svc_company_id|platform_id|id)":(-?\d+)(?=[,}])/g, '"$1":"$2"'));
}

export async function get(
  sandbox: Sandbox,
  address: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly text: string; readonly headers: Headers }> {
  const query = new URLSearchParams(parameters).toString();
  const response = await fetch(query === '' ? address : `${address}?${query}`, {
    headers: { api_key: sandbox.apiKey },
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

interface Envelope {
  readonly data: readonly Row[] | Envelope;
  readonly prev: string | null;
  readonly next: string | null;
  readonly total_count: number | null;
}

/** One page of either generation. */
export async function getPage(
  sandbox: Sandbox,
  address: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<PageBody> {
  const { status, text } = await get(sandbox, address, parameters);
  if (status !== 200) throw new Error(`${status} ${text}`);
  const body = parseExact(text) as Envelope;
  const envelope = 'length' in body.data ? body : body.data;
  return {
    rows: envelope.data as readonly Row[],
    prev: envelope.prev,
    next: envelope.next,
    totalCount: envelope.total_count,
  };
}

/** The pages of a list one after the other, by `next`. */
export async function* walkPages(
  sandbox: Sandbox,
  address: string,
  parameters: Readonly<Record<string, string>> = {},
): AsyncGenerator<PageBody> {
  let cursor: string | null = null;
  do {
    const page: PageBody = await getPage(
      sandbox,
      address,
      cursor === null ? parameters : { ...parameters, next: cursor },
    );
    yield page;
    cursor = page.next;
  } while (cursor !== null);
}

/** All pages of a list. */
export async function getPages(...list: Parameters<typeof walkPages>): Promise<readonly PageBody[]> {
  const pages: PageBody[] = [];
  for await (const page of walkPages(...list)) pages.push(page);
  return pages;
}

export async function getAll(...list: Parameters<typeof walkPages>): Promise<readonly Row[]> {
  return (await getPages(...list)).flatMap(({ rows }) => rows);
}

/** Ids of the companies that V4 lists. */
export async function getV4Companies(sandbox: Sandbox): Promise<readonly string[]> {
  const rows = await getAll(sandbox, `${sandbox.v4}/v4/core/companies`);
  return rows.map((row) => String(row.svc_id ?? row.svc_company_id ?? row['id']));
}
