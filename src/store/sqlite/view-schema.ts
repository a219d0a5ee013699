/** @module The tables of the views' file. A file with other tables is emptied and made anew: there is nothing to migrate. */
import { crc32 } from 'node:zlib'
import type { Database } from './open.ts'

export const VIEW_TABLES = ['runs', 'checkpoints', 'folds'] as const

const STATEMENTS = `
CREATE TABLE runs (
  tenant TEXT NOT NULL,
  run_id TEXT NOT NULL,
  name TEXT NOT NULL,
  status TEXT NOT NULL,
  tags TEXT NOT NULL,
  agents TEXT NOT NULL,
  actor TEXT NOT NULL,
  started_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  revision INTEGER NOT NULL,
  step INTEGER NOT NULL,
  rejections INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  cost TEXT,
  currency TEXT,
  fold TEXT NOT NULL,
  PRIMARY KEY (tenant, run_id)
) STRICT;
CREATE INDEX runs_newest ON runs (tenant, started_at DESC, run_id DESC);
CREATE TABLE checkpoints (
  projection TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  position TEXT NOT NULL
) STRICT;
CREATE TABLE folds (
  stream TEXT NOT NULL,
  projection TEXT NOT NULL,
  revision INTEGER NOT NULL,
  text TEXT NOT NULL,
  mac TEXT NOT NULL,
  PRIMARY KEY (stream, projection)
) STRICT;
`

/** The text is its own version, as the signed 32 bits that SQLite keeps. */
const VERSION = crc32(STATEMENTS) | 0

export function prepareViewSchema(db: Database): void {
  const prepare = db.transaction(() => {
    if (db.pragma('user_version', { simple: true }) === VERSION) return
    for (const table of VIEW_TABLES) db.exec(`DROP TABLE IF EXISTS ${table}`)
    db.exec(STATEMENTS)
    db.pragma(`user_version = ${VERSION}`)
  })
  prepare.immediate()
}
