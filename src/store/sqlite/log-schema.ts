/** @module The tables of the logs' file. A file with other tables is rebuilt: there is nothing to migrate. */
import { SEAL_TABLE } from './row-seal.ts'

export const LOG_SCHEMA = `
${SEAL_TABLE}
CREATE TABLE logs (
  id INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL UNIQUE,
  size INTEGER NOT NULL,
  last_fact INTEGER NOT NULL,
  signed_size INTEGER NOT NULL,
  note TEXT,
  stamp TEXT,
  stopped TEXT,
  holes TEXT
) STRICT;
CREATE INDEX logs_due ON logs (id) WHERE stopped IS NULL AND last_fact >= signed_size;
CREATE INDEX logs_holed ON logs (id) WHERE holes IS NOT NULL;
CREATE TABLE log_streams (
  id INTEGER PRIMARY KEY,
  stream TEXT NOT NULL UNIQUE,
  next_revision INTEGER NOT NULL,
  attested INTEGER,
  prev_digest TEXT,
  prev_time TEXT,
  min_ring_index INTEGER NOT NULL,
  is_foreign INTEGER NOT NULL
) STRICT;
CREATE TABLE leaves (
  log INTEGER NOT NULL,
  idx INTEGER NOT NULL,
  stream INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  position TEXT NOT NULL,
  event BLOB NOT NULL,
  PRIMARY KEY (log, idx)
) STRICT, WITHOUT ROWID;
CREATE INDEX leaves_event ON leaves (event);
CREATE TABLE tiles (
  log INTEGER NOT NULL,
  level INTEGER NOT NULL,
  idx INTEGER NOT NULL,
  hashes BLOB NOT NULL,
  UNIQUE (log, level, idx)
) STRICT;
CREATE TABLE head_sizes (
  log INTEGER PRIMARY KEY,
  size INTEGER NOT NULL
) STRICT;
CREATE TABLE stream_heads (
  id INTEGER PRIMARY KEY,
  log INTEGER NOT NULL,
  key BLOB NOT NULL,
  events INTEGER NOT NULL,
  digest BLOB NOT NULL,
  UNIQUE (log, key)
) STRICT;
CREATE TABLE progress (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  position TEXT NOT NULL,
  stream TEXT NOT NULL,
  revision INTEGER NOT NULL,
  digest TEXT NOT NULL,
  gap TEXT,
  notes TEXT
) STRICT;
`

/** The rows that the seal of the file covers. Leaves and tiles are checked against the signed checkpoints and the stored events instead. */
export const LOG_SEALED = [
  { name: 'logs', columns: ['tenant', 'size', 'last_fact', 'signed_size', 'note', 'stamp', 'stopped', 'holes'] },
  {
    name: 'log_streams',
    columns: ['stream', 'next_revision', 'attested', 'prev_digest', 'prev_time', 'min_ring_index', 'is_foreign'],
  },
  { name: 'head_sizes', columns: ['log', 'size'] },
  { name: 'stream_heads', columns: ['log', 'key', 'events', 'digest'] },
  { name: 'progress', columns: ['position', 'stream', 'revision', 'digest', 'gap', 'notes'] },
] as const
