// Preloaded into the built program by the tests of signals: counts what each thread asks of SQLite (statements and
// the rows it steps through) and sends the process a signal at the step that SIGNAL_POINT names. So a signal comes at
// the same moment of the work, however fast the machine is.
import { appendFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { isMainThread } from 'node:worker_threads';
import { Sqlite } from '../../dist/store/sqlite.js';

const { folder, at } = JSON.parse(process.env.SIGNAL_POINT);
const thread = isMainThread ? 'main' : 'worker';
let steps = 0;

const db = new Sqlite(':memory:');
const statement = db.prepare('SELECT 1');
for (const name of ['run', 'get', 'all', 'iterate']) countCalls(Object.getPrototypeOf(statement), name);
countCalls(Object.getPrototypeOf(statement.iterate()), 'next');
countCalls(Object.getPrototypeOf(db), 'exec');
steps = 0;

function countCalls(prototype, name) {
  const original = prototype[name];
  prototype[name] = function (...args) {
    steps += 1;
    if (at === null) writeFileSync(`${folder}/steps-${thread}`, String(steps));
    else if (at.thread === thread && at.step === steps) strike();
    return original.apply(this, args);
  };
}

function strike() {
  appendFileSync(`${folder}/signalled`, String(Date.now()));
  process.kill(process.pid, at.signal);
  if (at.hangs) runLongStatement();
}

/** Takes longer than a command may take to stop. */
function runLongStatement() {
  const rows = 30_000_000;
  db.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ${rows}) SELECT max(i) FROM n`,
  ).get();
}
