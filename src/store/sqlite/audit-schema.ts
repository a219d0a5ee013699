/** @module The tables of the auditors' index. A file with other tables is rebuilt: there is nothing to migrate. */
import {
  AUDIT_COLUMNS,
  AUDIT_FIELDS,
  AUDIT_FIELDS_VERSION,
  type AuditColumn,
  type AuditField,
} from '../../../schemas/audit-fields.ts'
import { typesThat } from '../../../schemas/events.ts'
import { SEAL_TABLE } from './row-seal.ts'

/** Safe to embed in SQL: type names come from the event catalogue, never from user input. */
export const RUN_ENDS = typesThat(({ changes }) => changes.run !== undefined && changes.run !== 'open')
const ENDS_A_RUN = `type IN ('${RUN_ENDS.join("', '")}')`

const SQL_TYPES = {
  text: 'TEXT NOT NULL',
  integer: 'INTEGER NOT NULL',
  flag: 'INTEGER NOT NULL',
  list: 'TEXT',
} as const satisfies Record<(typeof AUDIT_FIELDS)[AuditColumn]['column'], string>

function columnText(name: AuditColumn): string {
  const { column, optional }: AuditField & { readonly column: keyof typeof SQL_TYPES } = AUDIT_FIELDS[name]
  return `${name} ${optional === true ? 'TEXT' : SQL_TYPES[column]}`
}

function indexText(name: AuditColumn): readonly string[] {
  const { indexed, optional }: AuditField = AUDIT_FIELDS[name]
  if (indexed !== true) return []
  const where = optional === true ? ` WHERE ${name} IS NOT NULL` : ''
  return [`CREATE INDEX events_${name} ON events (tenant, ${name}, leaf)${where};`]
}

/**
 * Words are split before they reach the index: the `ascii` tokenizer keeps every non-ASCII character within its word. The text itself is not stored again:
 * a hit leads to its event. Hits are not ranked, so column sizes are not stored either. `tenant` is a single word, so that a search never visits entries
 * of other tenants.
 */
export const AUDIT_SCHEMA = `
-- fields of version ${AUDIT_FIELDS_VERSION}
CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  ${AUDIT_COLUMNS.map(columnText).join(',\n  ')}
) STRICT;
${AUDIT_COLUMNS.flatMap(indexText).join('\n')}
CREATE UNIQUE INDEX events_leaf ON events (tenant, leaf);
CREATE UNIQUE INDEX events_stream ON events (stream, revision);
CREATE INDEX events_id ON events (tenant, id);
CREATE INDEX events_revision ON events (tenant, run, revision, leaf, time, type) WHERE run IS NOT NULL;
CREATE INDEX events_time ON events (tenant, time);
CREATE INDEX events_rules ON events (tenant, leaf) WHERE rules IS NOT NULL;
CREATE INDEX events_ends ON events (tenant, run, leaf) WHERE ${ENDS_A_RUN};
CREATE INDEX events_marks ON events (tenant, leaf) WHERE marks IS NOT NULL;
CREATE INDEX events_clocked ON events (tenant, leaf) WHERE clocked = 1;
CREATE TABLE charges (
  seq INTEGER NOT NULL,
  agent TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  whole INTEGER NOT NULL,
  nano INTEGER NOT NULL,
  currency TEXT,
  provider TEXT,
  model TEXT,
  estimated INTEGER NOT NULL
) STRICT;
CREATE INDEX charges_seq ON charges (seq);
CREATE TABLE spend_sums (
  tenant TEXT NOT NULL,
  block INTEGER NOT NULL,
  hour TEXT NOT NULL,
  agent TEXT NOT NULL,
  provider TEXT,
  model TEXT,
  currency TEXT,
  estimated INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  whole INTEGER NOT NULL,
  nano INTEGER NOT NULL
) STRICT;
CREATE INDEX spend_sums_block ON spend_sums (tenant, block, hour);
CREATE INDEX spend_sums_hour ON spend_sums (tenant, hour, block);
CREATE TABLE states (stream TEXT PRIMARY KEY, state TEXT NOT NULL) STRICT;
CREATE TABLE foreign_streams (stream TEXT PRIMARY KEY) STRICT;
${SEAL_TABLE}
CREATE TABLE progress (one INTEGER PRIMARY KEY CHECK (one = 1), position TEXT NOT NULL, digest TEXT NOT NULL) STRICT;
CREATE VIRTUAL TABLE audit_text USING fts5 (tenant, body, content = '', columnsize = 0, tokenize = 'ascii');
`

/** Tables whose rows the seal of the file covers; of the word index it covers the head (`word-merges.ts`). */
export const AUDIT_SEALED = [
  { name: 'events', columns: AUDIT_COLUMNS },
  {
    name: 'charges',
    columns: ['seq', 'agent', 'tokens', 'whole', 'nano', 'currency', 'provider', 'model', 'estimated'],
  },
  {
    name: 'spend_sums',
    columns: [
      'tenant',
      'block',
      'hour',
      'agent',
      'provider',
      'model',
      'currency',
      'estimated',
      'tokens',
      'whole',
      'nano',
    ],
  },
  { name: 'states', columns: ['stream', 'state'] },
  { name: 'foreign_streams', columns: ['stream'] },
] as const
