import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createApi } from '../../../src/api/client.js';
import { parseConfigValue } from '../../../src/config/load-config.js';
import type { ProgressEvent } from '../../../src/domain.js';
import { probeRemote } from '../../../src/inspect/doctor/probe.js';
import { makeFolder } from '../../cli/run-cli.js';
import { sandboxStarter } from '../../sandbox/sandboxes.js';

const openSandbox = sandboxStarter();

it('names each step while it asks, so that a slow service does not look stuck', async () => {
  const sandbox = await openSandbox({ seed: 5, scale: 100 });
  const config = parseConfigValue(sandbox.config(), join(makeFolder(), 'c.json'), Date.now());
  const keys = {
    v3: new Map(config.v3.regions.map(({ region }) => [region, sandbox.apiKey])),
    v4: sandbox.apiKey,
  };
  const steps = new Set<string>();
  const onProgress = (event: ProgressEvent): void => {
    if (event.kind === 'step') steps.add(event.name);
  };
  const api = createApi({ config, keys, onProgress, signal: new AbortController().signal });
  await probeRemote({ config, api, keyErrors: new Map(), named: [], all: false, onProgress });
  await api.close();
  expect([...steps].filter((name) => !name.startsWith('ask V3'))).toEqual([
    'ask V4 for models',
    'try other names in V4',
    'ask V4 for its parameters',
    'look for companies that share records',
  ]);
});
