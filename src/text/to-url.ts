/**
 * A URL, or null if the text is none. Not with `URL.canParse`: in Node.js 20 and 22 it refuses hosts with letters such as ü
 * once it was called often.
 */
export function toUrl(text: string, base?: string): URL | null {
  try {
    return new URL(text, base);
  } catch {
    return null;
  }
}
