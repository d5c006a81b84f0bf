import { toUrl } from './to-url.js';

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
