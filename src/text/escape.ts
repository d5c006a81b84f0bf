/**
 * What could move a cursor, hide text or turn it around: control characters, line separators, bidi and
 * other invisible format characters, lone surrogates.
 */
const UNSEEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;

/** Text for people on one line: what would not be seen is spelled out, such as `\u001b`. */
export function escapeUnseen(text: string): string {
  return text.replace(UNSEEN, spell);
}

/** Text for people on several lines: only its line feeds are left to the terminal. */
export function escapeLines(text: string): string {
  return text.split('\n').map(escapeUnseen).join('\n');
}

/**
 * JSON text with the same meaning in which everything unseen is an escape sequence. `json` must be the
 * output of a JSON writer: outside strings it may hold line feeds only.
 */
export function escapeJson(json: string): string {
  return json.replace(UNSEEN, (found) => (found === '\n' ? found : jsonEscape(found)));
}

function spell(found: string): string {
  const code = found.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

function jsonEscape(found: string): string {
  let escaped = '';
  for (let at = 0; at < found.length; at += 1) {
    escaped += `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`;
  }
  return escaped;
}

const MARKUP: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text for HTML and XML, in elements and in quoted attributes. */
export function escapeMarkup(text: string): string {
  return escapeUnseen(text)
    .replace(/[\ufffe\uffff]/g, spell)
    .replace(/[&<>"']/g, (found) => MARKUP[found] ?? '');
}

/** What Markdown or GitHub gives a meaning inside a line: markup, links, mentions, references, emoji, math. */
const MARKDOWN = /[&\\`*[\]<>#|~@$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=[A-Za-z/+_-])/g;

/** Text for a Markdown table cell, or for a line that begins with something else. */
export function escapeMarkdown(text: string): string {
  return escapeUnseen(text)
    .replace(MARKDOWN, (found) => `&#${found.charCodeAt(0)};`)
    .replace(/www\./gi, (found) => `${found.slice(0, -1)}&#46;`);
}

/** One cell of machine CSV (RFC 4180): exact. */
export function csvCell(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/** One cell of CSV that people open in a spreadsheet: text that would be a formula is quoted with `'`. */
export function csvCellForPeople(value: string): string {
  return csvCell(/^[=+\-@\t\r\n]/.test(value) ? `'${value}` : value);
}
