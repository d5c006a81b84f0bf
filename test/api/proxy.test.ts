import { describe, expect, it } from 'vitest';
import { proxyFor } from '../../src/api/hosts.js';

const API = 'https://api.example.com';
const PROXY = 'http://proxy:3128';

describe('the proxy of a URL', () => {
  it.each([
    [API, {}, null],
    [API, { HTTPS_PROXY: PROXY }, 'proxy:3128'],
    [API, { https_proxy: PROXY, HTTPS_PROXY: 'http://other:1' }, 'proxy:3128'],
    [API, { HTTP_PROXY: PROXY }, 'proxy:3128'],
    [API, { HTTPS_PROXY: '', HTTP_PROXY: PROXY }, 'proxy:3128'],
    [API, { HTTPS_PROXY: 'proxy:3128' }, 'proxy:3128'],
    [API, { HTTPS_PROXY: 'http://user:secret@proxy:3128' }, 'proxy:3128'],
    ['http://api.example.com', { HTTPS_PROXY: PROXY }, null],
    ['http://api.example.com', { HTTP_PROXY: PROXY }, 'proxy:3128'],
    ['https://localhost:8443', { HTTPS_PROXY: PROXY }, null],
    ['https://127.0.0.1', { HTTPS_PROXY: PROXY }, null],
    ['https://[::1]:1', { HTTPS_PROXY: PROXY }, null],
    [API, { HTTPS_PROXY: PROXY, NO_PROXY: '*' }, null],
    [API, { HTTPS_PROXY: PROXY, NO_PROXY: 'api.example.com' }, null],
    [API, { HTTPS_PROXY: PROXY, NO_PROXY: 'x.test, EXAMPLE.com' }, null],
    [API, { HTTPS_PROXY: PROXY, NO_PROXY: '.example.com' }, null],
    [API, { HTTPS_PROXY: PROXY, NO_PROXY: '*.example.com' }, null],
    [API, { HTTPS_PROXY: PROXY, NO_PROXY: 'example.com:443' }, null],
    [API, { HTTPS_PROXY: PROXY, NO_PROXY: 'example.com:444' }, 'proxy:3128'],
    [API, { HTTPS_PROXY: PROXY, NO_PROXY: 'ample.com' }, 'proxy:3128'],
    [API, { HTTPS_PROXY: PROXY, NO_PROXY: 'b.api.example.com' }, 'proxy:3128'],
    [API, { HTTPS_PROXY: PROXY, NO_PROXY: '' }, 'proxy:3128'],
    ['https://api.example.com.', { HTTPS_PROXY: PROXY, NO_PROXY: 'example.com' }, null],
    [API, { HTTPS_PROXY: PROXY, NO_PROXY: 'API.example.com.' }, null],
    ['https://[2001:db8::1]', { HTTPS_PROXY: PROXY, NO_PROXY: '2001:DB8:0::1' }, null],
    ['https://[2001:db8::1]:8443', { HTTPS_PROXY: PROXY, NO_PROXY: '[2001:db8::1]:8443' }, null],
    ['https://[2001:db8::1]:8443', { HTTPS_PROXY: PROXY, NO_PROXY: '[2001:db8::1]:443' }, 'proxy:3128'],
    ['https://localhost.', { HTTPS_PROXY: PROXY }, null],
  ] as const)('%s with %j is %j', (url, env, proxy) => {
    expect(proxyFor(new URL(url), env)?.host ?? null).toBe(proxy);
  });

  it.each(['socks5://proxy:1', 'http://[', 'ftp://secret'])('%s is refused without being shown', (value) => {
    const find = () => proxyFor(new URL(API), { HTTPS_PROXY: value });
    expect(find).toThrow(expect.objectContaining({ code: 'config', exitCode: 2 }));
    expect(find).not.toThrow(/secret/);
  });
});
