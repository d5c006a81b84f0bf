import { describe, expect, it } from 'vitest';
import { SvcError } from '../../src/errors.js';
import { describeError } from '../../src/text/describe-error.js';

describe('describeError', () => {
  it('says what happened, what to do and where, the usual facts first', () => {
    const error = new SvcError('http_status', 'V3 answered 400.', {
      hint: 'Run it again.',
      facts: {
        attempts: 6,
        company: 7n,
        region: null,
        request_id: 'abc',
        status: 400,
        route: '/crm/stages',
        method: 'GET',
        cursor: undefined,
      },
    });
    expect(describeError(error, false)).toBe(
      [
        'svc-migrate: V3 answered 400.',
        '  → Run it again.',
        '  (method GET, route /crm/stages, status 400, request_id abc, company 7, attempts 6)',
        '',
      ].join('\n'),
    );
  });

  it('spells out what a terminal would act on, wherever it stands', () => {
    const error = new SvcError('http_status', 'bad \u001b]0;x\u0007 \u202e', {
      facts: { request_id: '\u009b1A\r' },
    });
    expect(describeError(error, false)).toBe(
      'svc-migrate: bad \\u001b]0;x\\u0007 \\u202e\n  (request_id \\u009b1A\\u000d)\n',
    );
  });

  it('shows causes only with verbose', () => {
    const error = new SvcError('disk', 'Cannot write.', { cause: new Error('the cause') });
    expect(describeError(error, false)).toBe('svc-migrate: Cannot write.\n');
    expect(describeError(error, true)).toMatch(
      /^svc-migrate: Cannot write\.\n {2}caused by Error: the cause\n {4}at /,
    );
  });

  it('says what the machine lacks instead of calling it a bug', () => {
    const error = Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' });
    expect(describeError(error, false)).toBe(
      'svc-migrate: The system allows this process no more open files.\n' +
        '  → Raise the limit (ulimit -n).\n  (error EMFILE: too many open files)\n',
    );
  });

  it('shows the stack of errors nobody foresaw', () => {
    expect(describeError(new TypeError('oops'), false)).toMatch(
      /^svc-migrate: this is a bug: TypeError: oops\n {4}at /,
    );
    expect(describeError('text', false)).toMatch(
      /^svc-migrate: this is a bug: 'text'\n {2}→ Please report .*\n$/,
    );
    expect(describeError(new SvcError('internal', 'It does not add up.'), false)).toMatch(
      /add up\.\n {4}at /,
    );
  });
});
