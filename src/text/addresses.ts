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

/**
 * The host and port of an address in the one form in which hosts are compared: lower case, decoded, IPv6 shortened, without user
 * information, default port and trailing dot. null: the address has none.
 *
 * @param address a URL, or a host with or without a port, which is then one of https
 */
export function comparableHost(address: string): string | null {
  const url = parseAddress(address);
  if (url === null) return null;
  const name = url.hostname.replace(/\.$/, '');
  return name === '' ? null : url.port === '' ? name : `${name}:${url.port}`;
}

/** A URL with its host in the form in which hosts are compared, and without a slash at the end; the text itself if it is none. */
export function comparableAddress(address: string): string {
  const [url, host] = [parseAddress(address), comparableHost(address)];
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

/** Whether a host is this machine; plain http is always allowed there. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])\.?$/.test(hostname);
}

/** Placeholder host in the configuration written by `init`. */
export const PLACEHOLDER_HOST = 'fill-in.invalid';

/** The problem of a base URL, null if it is valid. Does not repeat the URL, which may contain a password. */
export function baseUrlProblem(text: string): string | null {
  const url = toUrl(text);
  if (url === null || !/^https?:$/.test(url.protocol) || !/^https?:\/\//i.test(text)) {
    return 'must be an absolute address such as "https://api.example.com"';
  }
  if (url.hostname === PLACEHOLDER_HOST)
    return 'is still a placeholder: replace it with the address of the service';
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  if (url.search !== '' || url.hash !== '' || /[?#]/.test(text)) return 'must not hold a query or a fragment';
  return null;
}

/** V3 addresses by region; one address without a name is the region `default`. */
export function parseRegions(text: string): Record<string, string> {
  const named = text.split(',').map((part) => /^\s*(?:([\w-]+)=)?(.*?)\s*$/.exec(part) ?? []);
  return Object.fromEntries(named.map(([, region = 'default', url = '']) => [region, url]));
}

/** The problem of V3 addresses as `parseRegions` takes them. */
export function regionsProblem(text: string): string | null {
  const regions = parseRegions(text);
  if (Object.keys(regions).length < text.split(',').length)
    return 'must name each region once, as eu=https://…';
  return Object.values(regions).reduce<string | null>((found, url) => found ?? baseUrlProblem(url), null);
}

export function v4UrlProblem(text: string): string | null {
  return baseUrlProblem(text) ?? (/\/v4\/*$/i.test(text) ? 'must not end in /v4: it is added' : null);
}
