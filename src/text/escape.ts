import { must } from './at.js';

/** Control characters, line separators, bidi and other invisible format characters, lone surrogates. */
const INVISIBLE = invisibleAnd(String.raw`\u0000-\u001f`);
const INVISIBLE_IN_JSON = invisibleAnd(String.raw`\u0000-\u0009\u000b-\u001f`);

function invisibleAnd(controls: string): RegExp {
  const others = String.raw`\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb`;
  return new RegExp(String.raw`[${controls}${others}]|[\u{e0000}-\u{e007f}]|\p{Surrogate}`, 'gu');
}

/** Escapes invisible characters, as in `\u001b`; the result is one line that a terminal can show. */
export function escapeUnseen(text: string): string {
  return text.replace(INVISIBLE, escapeCodePoint);
}

export function escapeLines(text: string): string {
  return text.split('\n').map(escapeUnseen).join('\n');
}

/** Escapes the invisible characters in the strings of a JSON writer's text; the values stay. */
export function escapeJson(json: string): string {
  return json.replace(INVISIBLE_IN_JSON, jsonEscape);
}

/** A result for programs: indented JSON without invisible characters; 64-bit ids are strings of digits. */
export function renderJson(value: unknown): string {
  return `${escapeJson(JSON.stringify(value, digitsOfId, 2))}\n`;
}

function digitsOfId(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

function escapeCodePoint(char: string): string {
  const code = must(char.codePointAt(0));
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

function jsonEscape(char: string): string {
  let escaped = '';
  for (let unit = 0; unit < char.length; unit += 1) {
    escaped += `\\u${char.charCodeAt(unit).toString(16).padStart(4, '0')}`;
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

export function escapeMarkup(text: string): string {
  return escapeUnseen(text)
    .replace(/[\ufffe\uffff]/g, escapeCodePoint)
    .replace(/[&<>"']/g, (char) => must(MARKUP[char]));
}

/** Characters with a meaning to Markdown or GitHub inside a line: markup, links, mentions, references, emoji, math. */
const MARKDOWN = /[&\\`*[\]<>#|~@$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=[A-Za-z/+_-])/g;

/** Escapes text for a Markdown table cell or the middle of a line; markup that counts at the start of a line is kept. */
export function escapeMarkdown(text: string): string {
  return escapeUnseen(text)
    .replace(MARKDOWN, (char) => `&#${char.charCodeAt(0)};`)
    .replace(/www\./gi, (word) => `${word.slice(0, -1)}&#46;`);
}

/** A CSV cell that keeps the exact value, for programs (RFC 4180). */
export function csvCell(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

export function shellLine(words: readonly string[]): string {
  return words
    .map((word) => (/^[\w@%+=:,./#-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(' ');
}
