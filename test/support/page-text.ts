/** The parts of a list answer as text, so that records keep their bytes. */
export interface PageText {
  /** Between the brackets of the list. */
  readonly records: string;
  readonly next: string | null;
  readonly totalCount: number | null;
  /** V4 only. */
  readonly requestId: string | null;
}

const V4 = /^\{"data":\{"data":\[(.*)\],("prev".*?)\},"request_id":("[^"]*")\}$/s;
const V3 = /^\{"data":\[(.*)\],("prev".*)\}$/s;

/** Takes a list answer of the sandbox apart. */
export function readPageText(body: Buffer): PageText {
  const text = body.toString('utf8');
  const v4 = V4.exec(text);
  const found = v4 ?? V3.exec(text);
  if (found === null) throw new Error(`This is no page: ${text.slice(0, 200)}`);
  const tail = JSON.parse(`{${found[2]}}`) as { next: string | null; total_count: number | null };
  const requestId = v4?.[3] === undefined ? null : String(JSON.parse(v4[3]));
  return { records: found[1] ?? '', next: tail.next, totalCount: tail.total_count, requestId };
}

/** Puts it together again; fields that are given replace those of the envelope, `undefined` leaves one out. */
export function writePageText(page: PageText, fields: Readonly<Record<string, unknown>> = {}): string {
  const envelope = { prev: null, next: page.next, total_count: page.totalCount, ...fields };
  const list = `{"data":[${page.records}],${JSON.stringify(envelope).slice(1)}`;
  return page.requestId === null ? list : `{"data":${list},"request_id":${JSON.stringify(page.requestId)}}`;
}
