/** nock 15 calls `Promise.withResolvers`, which Node 20 lacks. */
interface Resolvers {
  promise: Promise<unknown>;
  resolve: (value: unknown) => void;
  reject: (reason: unknown) => void;
}

function withResolvers(): Resolvers {
  let resolve: Resolvers['resolve'] = () => {};
  let reject: Resolvers['reject'] = () => {};
  const promise = new Promise((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

if (!('withResolvers' in Promise)) {
  Object.defineProperty(Promise, 'withResolvers', { value: withResolvers, configurable: true });
}
