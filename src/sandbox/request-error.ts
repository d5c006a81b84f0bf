/** A request the service refuses, with the status and code it answers. */
export class RequestError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = 'RequestError';
    this.status = status;
    this.code = code;
  }
}

export function badParameter(name: string, problem: string): RequestError {
  return new RequestError(400, 'invalid_parameter', `${name}: ${problem}`);
}

export function notFound(what: string): RequestError {
  return new RequestError(404, 'not_found', `There is no ${what}.`);
}
