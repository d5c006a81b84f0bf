/** Parses a URL; null for other texts. `URL.canParse` of Node 20 and 22 refuses hosts with letters such as ü at times. */
export function toUrl(text: string, base?: string): URL | null {
  try {
    return new URL(text, base);
  } catch {
    return null;
  }
}

/** Host and port of a URL, or of a host for https, without user, default port and trailing dot; null if there is none. */
export function comparableHost(address: string): string | null {
  const url = parseAddress(address);
  if (url === null) return null;
  const name = url.hostname.replace(/\.$/, '');
  return name === '' ? null : url.port === '' ? name : `${name}:${url.port}`;
}

/** A URL in a form that can be compared, without a slash at the end; other texts unchanged. */
export function comparableAddress(address: string): string {
  const url = parseAddress(address);
  const host = comparableHost(address);
  return url === null || host === null
    ? address
    : `${url.protocol}//${host}${url.pathname.replace(/\/+$/, '')}`;
}

function parseAddress(address: string): URL | null {
  // IPv6 without brackets, as in NO_PROXY, cannot have a port.
  const host = /^[\da-f:.]*:[\da-f:.]*:[\da-f:.]*$/i.test(address)
    ? `[${address}]`
    : address.replace(/^\/\//, '');
  const url = /^[a-z][a-z\d+.-]*:\/\//i.test(address) ? address : `https://${host}`;
  return toUrl(url);
}

export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])\.?$/.test(hostname);
}
