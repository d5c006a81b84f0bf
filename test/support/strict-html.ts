/** One tag, as it was written. */
export interface Tag {
  readonly name: string;
  readonly isEnd: boolean;
  readonly attributes: readonly string[];
}

export interface StrictHtml {
  readonly tags: readonly Tag[];
  /** Text of all elements but `style` and `script`, references resolved. */
  readonly text: string;
}

const VOID = new Set(['meta', 'br', 'hr', 'img', 'link', 'input']);
const REFERENCE = /&(?:amp|lt|gt|quot|#39);/g;
const RESOLVED: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};
const TAG = /<(\/?)([a-zA-Z][a-zA-Z0-9-]*)((?: [a-zA-Z][a-zA-Z0-9-]*="[^"<>]*")*)(\/?)>/y;
const TEXT = /[^<>]+/y;
const STYLE = /[^<>]*(?:>[^<>]*)*(?=<\/(?:style|script)>)/y;

/**
 * Reads HTML of the plainest kind: known references only, quoted attributes, every element closed in its turn.
 * Far stricter than browsers, so that what passes leaves them nothing to guess.
 *
 * @throws Error at the first thing that is not so
 */
export function readStrictHtml(html: string): StrictHtml {
  const start = '<!DOCTYPE html>\n';
  if (!html.startsWith(start)) throw new Error('no doctype');
  const tags: Tag[] = [];
  const open: string[] = [];
  const texts: string[] = [];
  let at = start.length;
  while (at < html.length) {
    const text = take(isRaw(open) ? STYLE : TEXT, html, at);
    if (text !== null && text[0] !== '') {
      if (!isRaw(open)) texts.push(resolve(text[0]));
      at += text[0].length;
      continue;
    }
    const found = take(TAG, html, at);
    if (found === null) throw new Error(`no tag at ${at}: ${html.slice(at, at + 80)}`);
    const [whole, slash = '', name = '', rest = '', selfEnd = ''] = found;
    const attributes = [...rest.matchAll(/ ([a-zA-Z][a-zA-Z0-9-]*)="([^"]*)"/g)];
    for (const [, , value = ''] of attributes) resolve(value);
    tags.push({ name, isEnd: slash !== '', attributes: attributes.map(([, word = '']) => word) });
    if (slash !== '' && open.pop() !== name) throw new Error(`</${name}> closes another element`);
    if (slash === '' && selfEnd === '' && !VOID.has(name)) open.push(name);
    at += whole.length;
  }
  if (open.length > 0) throw new Error(`not closed: ${open.join(' ')}`);
  return { tags, text: texts.join('\n') };
}

function isRaw(open: readonly string[]): boolean {
  return ['style', 'script'].includes(open.at(-1) ?? '');
}

function take(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function resolve(text: string): string {
  if (text.replace(REFERENCE, '').includes('&')) throw new Error(`a bare & in: ${text.slice(0, 80)}`);
  return text.replace(REFERENCE, (found) => RESOLVED[found] ?? '');
}
