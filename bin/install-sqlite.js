// Runs after installation, or by hand. better-sqlite3 13 comes prebuilt and needs Node-API 10 (Node 22.14 and later): there
// is nothing to do. Older Nodes get version 12 in a folder of its own, downloaded where a build exists and compiled otherwise.
import { spawnSync } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const NODE_API_OF_13 = 10;

// The version comes first: another one may be found in a folder above, and may crash.
const CHECK = `
  const { dependencies } = require('./package.json');
  const { version } = require('better-sqlite3/package.json');
  if (version !== dependencies['better-sqlite3']) process.exit(1);
  const Database = require('better-sqlite3');
  process.exit(new Database(':memory:').prepare('SELECT 42').pluck().get() === 42 ? 0 : 1);`;

// npm runs install scripts again where nothing is missing: npx does so for a clone. Compiling takes minutes, and
// stopping it would leave a broken installation. In a process of its own, because a broken build may crash.
function isInstalled(folder) {
  return spawnSync(process.execPath, ['-e', CHECK], { cwd: folder, stdio: 'ignore' }).status === 0;
}

if (Number(process.versions.napi) < NODE_API_OF_13) {
  const npm = process.env.npm_execpath;
  const [program, ...args] = npm === undefined ? ['npm'] : [process.execPath, npm];
  const folder = fileURLToPath(new URL('sqlite-node20', import.meta.url));
  if (!isInstalled(folder)) {
    // The settings of the npm that runs this script come along in its environment: here a folder is meant whatever they say.
    args.push(
      'ci',
      '--prefix',
      folder,
      '--no-global',
      '--location=project',
      '--no-workspaces',
      '--no-dry-run',
    );
    const { status } = spawnSync(program, [...args, '--no-audit', '--no-fund'], {
      cwd: folder,
      stdio: 'inherit',
      shell: npm === undefined && process.platform === 'win32',
    });
    process.exitCode = status ?? 1;
  }
}
