import nock from 'nock';
import { afterAll, afterEach, beforeAll } from 'vitest';

export const V3 = 'https://v3.example.com';
export const V4 = 'https://v4.example.com';
export const V3_PATH = /^\/v3\/accounting\/invoices\?/;
export const V4_PATH = /^\/v4\/core\/companies\/2\/invoices\?/;

/** Lets no test of the file reach the network; what a test mocks is gone after it. */
export function allowMocksOnly(): void {
  beforeAll(() => nock.disableNetConnect());
  afterEach(() => nock.cleanAll());
  afterAll(() => {
    nock.enableNetConnect();
    nock.restore();
  });
}
