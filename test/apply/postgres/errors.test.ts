import { expect, it } from 'vitest';
import {
  isConnectionLost,
  isWorthRetrying,
  postgresError,
} from '../../../src/apply/dialects/postgres-session.js';
import { SvcError } from '../../../src/errors.js';

it.each([
  'Connection terminated unexpectedly',
  'Connection terminated due to connection timeout',
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
  'Query read timeout',
  'timeout expired',
])('the driver\'s "%s" means that the connection is lost', (message) => {
  const error = new Error(message);
  expect(isConnectionLost(error)).toBe(true);
  expect(isWorthRetrying(error)).toBe(true);
  expect(postgresError(error)).toBeInstanceOf(SvcError);
});

it('leaves other errors alone', () => {
  const error = new Error('a bug');
  expect(isWorthRetrying(error)).toBe(false);
  expect(postgresError(error)).toBe(error);
});
