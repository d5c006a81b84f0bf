import { SvcError } from '../../errors.js';
import type { Database } from './database.js';
import type { ServerOptions } from './server.js';

export async function openMysql({ name }: ServerOptions): Promise<Database> {
  throw new SvcError('usage', `The database of ${name} is not supported yet.`);
}
