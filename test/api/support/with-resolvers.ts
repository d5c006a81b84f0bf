/** nock calls `Promise.withResolvers`, which Node 20 does not have. */
if (!('withResolvers' in Promise)) {
  Object.assign(Promise, {
    withResolvers<T>() {
      let settle: { resolve: (value: T) => void; reject: (reason: unknown) => void } | undefined;
      const promise = new Promise<T>((resolve, reject) => {
        settle = { resolve, reject };
      });
      return { promise, ...settle };
    },
  });
}

export {};
