import type { Database } from '../../../src/apply/db/database.js';

/** Thrown in place of a statement, as if the process had been killed before it. */
export class Killed extends Error {}

/** Counts statements over all connections, and stops before one of them. */
export class Killer {
  count = 0;
  readonly #at: number;

  constructor(at = Number.POSITIVE_INFINITY) {
    this.#at = at;
  }

  step(): void {
    this.count += 1;
    this.assertAlive();
  }

  assertAlive(): void {
    if (this.count >= this.#at) throw new Killed();
  }
}

/** The database, of which nothing works any more after its process died. */
function living(db: Database, killer: Killer): Database {
  return new Proxy(db, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function' || name === 'close') return member;
      return (...given: unknown[]) => {
        killer.assertAlive();
        return Reflect.apply(member, target, given);
      };
    },
  });
}

/** A database that dies before a statement. */
export function mortal(given: Database, killer: Killer): Database {
  const db = living(given, killer);
  return {
    ...db,
    query: async (sql) => {
      killer.step();
      return db.query(sql);
    },
    execute: async (sql) => {
      killer.step();
      return db.execute(sql);
    },
    insert: async (...rows) => {
      killer.step();
      return db.insert(...rows);
    },
    read: async function* (sql) {
      killer.step();
      yield* db.read(sql);
    },
    transaction: (mode, work) =>
      db.transaction(mode, async () => {
        const result = await work();
        // Before the commit.
        killer.step();
        return result;
      }),
  };
}

/** SQLite as MySQL does DDL: each statement of it commits what came before. */
export function committingDdl(db: Database): Database {
  let isIn = false;
  return {
    ...db,
    supportsTransactionalDdl: false,
    execute: async (sql) => {
      if (!isIn || !/^(?:create|alter|drop)/i.test(sql)) return db.execute(sql);
      await db.execute('commit');
      const changed = await db.execute(sql);
      await db.execute('begin immediate');
      return changed;
    },
    transaction: (mode, work) =>
      db.transaction(mode, async () => {
        isIn = mode === 'write';
        try {
          return await work();
        } finally {
          isIn = false;
        }
      }),
  };
}
