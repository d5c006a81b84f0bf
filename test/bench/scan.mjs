import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLI, here, inFolder, interleave, measure, medianOf, print, printBar } from './processes.mjs';

const HOST = 'api.ledger-hub.example';
/** What is added to a file so that it uses V3: a request with its route, filter, parameter and envelope. */
const USE = `
const LEDGER_BASE = 'https://${HOST}/v3';

export async function readInvoicePages(companyId: number, since: string): Promise<unknown[]> {
  const found: unknown[] = [];
  let next: string | null = null;
  do {
    const query = new URLSearchParams({ 'svc_company_id[eq]': String(companyId), 'svc_updated_at[gte]': since });
    if (next !== null) query.set('next', next);
    const response = await fetch(\`\${LEDGER_BASE}/accounting/invoices?\${query}\`);
    const page = (await response.json()) as { data: unknown[]; next: string | null };
    found.push(...page.data);
    next = page.next;
  } while (next !== null);
  return found;
}
`;

/** Time and memory of `scan` by how many files use V3. */
export async function benchScan({ lines = 100_000, rounds }) {
  print(`\nScan of ${lines} lines of TypeScript: CPU seconds, peak`);
  for (const share of [1, 0.5, 0.05]) {
    await inFolder(async (folder) => {
      const files = makeCode(folder, lines, share);
      const results = await interleave(rounds, [
        ['scan', () => measure([CLI, 'scan', folder, '--v3-host', HOST, '--quiet'], { codes: [1] })],
      ]);
      const scan = results.get('scan');
      const cpu = medianOf(scan, 'cpuSeconds');
      print(`    ${files} files, ${share * 100} % use V3`);
      printBar('CPU seconds', cpu, -3);
      printBar('peak', medianOf(scan, 'peakMiB'), -300, ' MiB');
    });
  }
}

/** Copies this program's own source under other words until there are `lines`; returns the number of files. */
function makeCode(folder, lines, share) {
  const root = here('../../src');
  const sources = readdirSync(root, { recursive: true }).filter((name) => name.endsWith('.ts'));
  let [count, written] = [0, 0];
  for (let turn = 0; written < lines; turn++) {
    for (const name of sources) {
      const plain = readFileSync(join(root, name), 'utf8')
        .replace(/v3/gi, 'elder')
        .replace(/svc/gi, 'acme')
        .replace(/accounting|crm\b/g, 'sales');
      const usesV3 = Math.floor(count * share) !== Math.floor((count + 1) * share);
      const text = usesV3 ? plain + USE : plain;
      const file = join(folder, `copy${turn}`, name);
      mkdirSync(join(file, '..'), { recursive: true });
      writeFileSync(file, text);
      count += 1;
      written += text.split('\n').length;
      if (written >= lines) break;
    }
  }
  return count;
}
