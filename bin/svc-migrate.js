#!/usr/bin/env node
import process from 'node:process';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 18)) {
  process.stderr.write(`svc-migrate needs Node.js 20.18.1 or later; this is ${process.versions.node}.\n`);
  process.exit(2);
}
try {
  await import('../dist/cli.js');
} catch (error) {
  // Node.js would exit with 1, which means a failed gate.
  process.stderr.write(`svc-migrate cannot be loaded; install it again.\n${error.stack}\n`);
  process.exit(70);
}
