import type { DatabasePlace } from '../config/apply-targets.js';
import type { Env } from '../domain.js';
import { SvcError } from '../errors.js';
import type { Connection, Database } from './db/database.js';

export async function openPlace(
  place: DatabasePlace,
  mode: 'read' | 'write',
  connection: Connection,
  env: Env,
): Promise<Database> {
  if (place.kind === 'sqlite') {
    const { openSqlite } = await import('./db/sqlite.js');
    return openSqlite(place.file, mode, connection);
  }
  const url = env[place.urlEnv];
  if (url === undefined || url === '') {
    throw new SvcError('usage', `The environment variable ${place.urlEnv} is not set.`, {
      hint: 'It contains the connection string of the database.',
    });
  }
  const options = { ...connection, url, name: place.urlEnv, tls: place.tls ?? 'verified', mode } as const;
  if (place.kind === 'postgres') {
    const { openPostgres } = await import('./db/postgres.js');
    return openPostgres(options);
  }
  const { openMysql } = await import('./db/mysql.js');
  return openMysql(options);
}

/** Targets at the same place share a connection. */
export function placeKey(place: DatabasePlace): string {
  return place.kind === 'sqlite' ? `sqlite ${place.file}` : `${place.kind} ${place.urlEnv}`;
}
