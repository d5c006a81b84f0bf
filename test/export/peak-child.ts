import { readFileSync } from 'node:fs';
import { createApi } from '../../src/api/client.js';
import { parseConfigValue } from '../../src/config/load-config.js';
import { runExport } from '../../src/export/run-export.js';
import { closeDatabase, openDatabase } from '../../src/store/open.js';

/**
 * Exports V3 into a database and prints its peak memory in MiB, why its list ended and the number of records.
 *
 * Arguments: address of V3, file, `http.maxBodyMiB`.
 */
const [origin = '', file = '', maxBodyMiB = ''] = process.argv.slice(2);

const config = parseConfigValue(
  {
    database: file,
    v3: { regions: { default: { baseUrl: origin } } },
    v4: { baseUrl: origin },
    models: [{ v3: 'accounting/notes', v4: 'notes' }],
    http: { maxBodyMiB: Number(maxBodyMiB) },
  },
  file,
  Date.now(),
);
const signal = new AbortController().signal;
const keys = { v3: new Map([['default', 'key']]), v4: '' };
const api = createApi({ config, keys, signal, onProgress: () => {} });
const db = openDatabase(file, 'create');
const exported = await runExport({
  db,
  config,
  api,
  generations: ['v3'],
  clock: Date,
  onProgress: () => {},
  signal,
});
const [stream] = exported.flatMap(({ streams }) => streams);
closeDatabase(db);
await api.close();
const peakKib = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
const { endReason, uniqueRecords: records } = stream ?? {};
process.stdout.write(JSON.stringify({ peakMiB: Number(peakKib) / 1024, endReason, records }));
