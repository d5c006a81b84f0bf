import { openDatabase } from '../../src/store/open.js';

/** Holds the database that is named until it is killed. */
openDatabase(process.argv[2] ?? '', 'create');
process.stdout.write('open\n');
setInterval(() => {}, 1000);
