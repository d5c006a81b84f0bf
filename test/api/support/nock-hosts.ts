import { type ClientRequest, type IncomingMessage, request as sendRequest } from 'node:http';
import { request as sendSecureRequest } from 'node:https';
import './with-resolvers.js';
import nock from 'nock';
import { Dispatcher } from 'undici';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { createTestApi, type Settings, type TestApi } from './test-api.js';

export const V3 = 'https://v3.example.com';
export const V4 = 'https://v4.example.com';
export const V3_PATH = /^\/v3\/accounting\/invoices\?/;
export const V4_PATH = /^\/v4\/core\/companies\/2\/invoices\?/;

/** Lets no test of the file reach the network; what a test mocks is gone after it. */
export function allowMocksOnly(): void {
  beforeAll(() => {
    if (!nock.isActive()) nock.activate();
    nock.disableNetConnect();
  });
  afterEach(() => nock.cleanAll());
  afterAll(() => {
    nock.enableNetConnect();
    nock.restore();
  });
}

/** A client that nock answers. */
export function createMockedApi(settings?: Settings): TestApi & { readonly requests: () => number } {
  const dispatcher = new NodeHttpDispatcher();
  return { ...createTestApi(settings, dispatcher), requests: () => dispatcher.requests };
}

/** Sends requests by `node:http`, which nock intercepts: undici opens sockets of its own. */
class NodeHttpDispatcher extends Dispatcher {
  requests = 0;

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    this.requests++;
    const url = new URL(options.path, String(options.origin));
    const send = url.protocol === 'https:' ? sendSecureRequest : sendRequest;
    const request = send(url, { method: options.method, headers: Object(options.headers) });
    request.on('error', (error) => handler.onError?.(error));
    handler.onConnect?.((reason) => request.destroy(reason));
    request.on('response', (response) => passOn(response, request, handler));
    request.end();
    return true;
  }
}

function passOn(
  response: IncomingMessage,
  request: ClientRequest,
  handler: Dispatcher.DispatchHandler,
): void {
  const headers = response.rawHeaders.map((text) => Buffer.from(text));
  handler.onHeaders?.(
    response.statusCode ?? 0,
    headers,
    () => response.resume(),
    response.statusMessage ?? '',
  );
  response.on('data', (chunk: Buffer) => {
    if (handler.onData?.(chunk) === false) response.pause();
  });
  response.on('end', () => handler.onComplete?.([]));
  response.on('error', (error) => handler.onError?.(error));
  request.on('close', () => {
    if (!response.complete) handler.onError?.(new Error('closed'));
  });
}
