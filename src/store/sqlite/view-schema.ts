/** @module The tables of the views' file. A file with other tables is rebuilt: there is nothing to migrate. */
import { SEAL_TABLE } from './row-seal.ts'

export const VIEW_SCHEMA = `
${SEAL_TABLE}
CREATE TABLE runs (
  tenant TEXT NOT NULL,
  run_id TEXT NOT NULL,
  name TEXT NOT NULL,
  status TEXT NOT NULL,
  tags TEXT NOT NULL,
  agents TEXT NOT NULL,
  actor TEXT NOT NULL,
  principal TEXT,
  search TEXT NOT NULL,
  started_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  revision INTEGER NOT NULL,
  step INTEGER NOT NULL,
  rejections INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  waiting INTEGER NOT NULL,
  approvals INTEGER NOT NULL,
  suspects INTEGER NOT NULL,
  open_calls INTEGER NOT NULL,
  in_doubt_calls INTEGER NOT NULL,
  lease_until TEXT,
  fence INTEGER NOT NULL,
  due_at TEXT,
  carried_until TEXT,
  version TEXT,
  stuck TEXT,
  compensation TEXT,
  tokens INTEGER NOT NULL,
  cost TEXT,
  currency TEXT,
  fold TEXT NOT NULL,
  PRIMARY KEY (tenant, run_id)
) STRICT;
CREATE INDEX runs_newest ON runs (tenant, started_at DESC, run_id DESC);
CREATE INDEX runs_waiting ON runs (tenant, started_at DESC, run_id DESC) WHERE waiting > 0;
CREATE INDEX runs_stuck ON runs (tenant, started_at DESC, run_id DESC) WHERE stuck IS NOT NULL;
CREATE INDEX runs_suspects ON runs (tenant, started_at DESC, run_id DESC) WHERE suspects > 0;
CREATE INDEX runs_open_calls ON runs (tenant, started_at DESC, run_id DESC) WHERE open_calls > 0;
CREATE INDEX runs_rolled_back ON runs (tenant, compensation, started_at DESC, run_id DESC) WHERE compensation IS NOT NULL;
CREATE INDEX runs_due ON runs (tenant, name, due_at, run_id, version) WHERE due_at IS NOT NULL;
CREATE INDEX runs_carried ON runs (tenant, carried_until, run_id) WHERE carried_until IS NOT NULL;
CREATE TABLE checkpoints (
  projection TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  position TEXT NOT NULL,
  digest TEXT NOT NULL
) STRICT;
CREATE TABLE faults (
  tenant TEXT NOT NULL,
  stream TEXT NOT NULL,
  revision INTEGER NOT NULL,
  code TEXT NOT NULL,
  found_at TEXT NOT NULL,
  PRIMARY KEY (tenant, stream, revision)
) STRICT;
CREATE TABLE notes (name TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT;
CREATE TABLE folds (
  stream TEXT NOT NULL,
  projection TEXT NOT NULL,
  revision INTEGER NOT NULL,
  text TEXT NOT NULL,
  mac TEXT NOT NULL,
  PRIMARY KEY (stream, projection)
) STRICT;
`

/** The rows that the seal of the file covers; each cached fold has its own MAC. */
export const VIEWS_SEALED = [
  {
    name: 'runs',
    columns: [
      ...[
        'tenant',
        'run_id',
        'name',
        'status',
        'tags',
        'agents',
        'actor',
        'principal',
        'search',
        'started_at',
        'updated_at',
        'revision',
        'step',
      ],
      ...[
        'rejections',
        'calls',
        'waiting',
        'approvals',
        'suspects',
        'open_calls',
        'in_doubt_calls',
        'lease_until',
        'fence',
        'due_at',
        'carried_until',
        'version',
        'stuck',
        'compensation',
      ],
      ...['tokens', 'cost', 'currency', 'fold'],
    ],
  },
  { name: 'checkpoints', columns: ['projection', 'version', 'position', 'digest'] },
  { name: 'faults', columns: ['tenant', 'stream', 'revision', 'code', 'found_at'] },
  { name: 'notes', columns: ['name', 'text'] },
] as const
