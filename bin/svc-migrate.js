#!/usr/bin/env node
import process from 'node:process';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 18)) {
  process.stderr.write(`svc-migrate needs Node.js 20.18.1 or later; this is ${process.versions.node}.\n`);
  process.exit(2);
}
await import('../dist/cli.js');
