// A thread that runs one module after another, each as if it were the first: with a port and data of its own.
import { createRequire, syncBuiltinESMExports } from 'node:module';

const threads = createRequire(import.meta.url)('node:worker_threads');
const { parentPort } = threads;
let runs = 0;

parentPort.on('message', async ({ module, port, workerData }) => {
  Object.assign(threads, { parentPort: port, workerData });
  syncBuiltinESMExports();
  port.once('close', () => parentPort.postMessage('free'));
  runs += 1;
  await import(`${module}?run=${runs}`);
});
