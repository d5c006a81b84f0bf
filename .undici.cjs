/*! The parts of undici in use (MIT License, copyright (c) Matteo Collina and Undici contributors). */
// All of it, with fetch, caches and mocks, takes as long to load as half of the program.
const Dispatcher = require('./node_modules/undici/lib/dispatcher/dispatcher.js');

// As undici itself does.
Object.assign(Dispatcher.prototype, require('./node_modules/undici/lib/api/index.js'));

exports.Agent = require('./node_modules/undici/lib/dispatcher/agent.js');
exports.EnvHttpProxyAgent = require('./node_modules/undici/lib/dispatcher/env-http-proxy-agent.js');
exports.errors = require('./node_modules/undici/lib/core/errors.js');

/** That of undici, for a URL object. */
exports.request = (url, { dispatcher, ...options }) =>
  dispatcher.request({ ...options, origin: url.origin, path: `${url.pathname}${url.search}` });
