import type { ApplyTarget } from '../../config/apply-targets.js';
import { SERVERS } from '../../domain.js';
import { SvcError } from '../../errors.js';

/** What `apply sql` takes. */
export const EMIT_DIALECTS = [...SERVERS.map(({ kind }) => kind), 'sqlite'] as const;
export type EmitDialect = (typeof EMIT_DIALECTS)[number];

/** Where the SQL goes: folders of migration tools, or plain files. */
export const LAYOUTS = ['plain', 'flyway', 'liquibase', 'prisma', 'rails', 'knex'] as const;
export type Layout = (typeof LAYOUTS)[number];

/** What `apply sql` writes, and where. */
export interface EmitRequest {
  readonly dialect: EmitDialect;
  readonly layout: Layout;
  readonly folder: string;
}

/** The SQL of one plan for one database, as statements without semicolons. */
export interface SqlScript {
  readonly title: string;
  /** Creates the ledger and the crosswalks. */
  readonly load: readonly string[];
  /** Checks, rewrites and records. */
  readonly up: readonly string[];
  readonly down: readonly string[];
  /** The last statements of a transaction that the file itself begins. */
  readonly guards: { readonly up: readonly string[]; readonly down: readonly string[] };
  /** A query that returns one number: 0 if everything is as the run wrote it. */
  readonly verify: string;
  /** The statement that begins the transaction; null: the other statements begin and end it. */
  readonly begin: string | null;
  /** Values in the crosswalks. */
  readonly values: number;
}

/** @throws SvcError `usage` if a target is of another kind */
export function assertTargetKinds(targets: readonly ApplyTarget[], { dialect }: EmitRequest): void {
  const other = targets.find(({ kind }) => kind !== dialect);
  if (other === undefined) return;
  const text = `Target ${other.name} is of kind ${other.kind}, and apply sql ${dialect} takes tables of kind ${dialect}.`;
  throw new SvcError('usage', text, {
    hint: 'Name the targets to write SQL for: `svc-migrate apply sql DIALECT ORDERS LINES`.',
  });
}
