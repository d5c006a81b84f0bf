/**
 * The host and port of an address in the one form in which hosts are compared: lower case, decoded, IPv6 shortened, without user
 * information, default port and trailing dot. null: the address has none.
 *
 * @param address a URL, or a host with or without a port, which is then one of https
 */
export function comparableHost(address: string): string | null {
  const url = /^[a-z][a-z\d+.-]*:\/\//i.test(address) ? address : `https://${address.replace(/^\/\//, '')}`;
  if (!URL.canParse(url)) return null;
  const { hostname, port } = new URL(url);
  const name = hostname.replace(/\.$/, '');
  return name === '' ? null : port === '' ? name : `${name}:${port}`;
}
