/** @module The tables of the auditors' index. A file with other tables is made anew: there is nothing to migrate. */
/**
 * Words come apart before they get here: `ascii` keeps every character beyond ASCII within its word. The text itself is not kept twice:
 * a hit leads to its event. `tenant` is one word, so that a search never walks through what others wrote.
 */
export const AUDIT_SCHEMA = `
CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  leaf INTEGER NOT NULL,
  stream TEXT NOT NULL,
  run TEXT,
  revision INTEGER NOT NULL,
  position TEXT NOT NULL,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  time TEXT NOT NULL,
  actor TEXT NOT NULL,
  principal TEXT NOT NULL,
  kid TEXT NOT NULL,
  agent TEXT,
  tool TEXT,
  call TEXT,
  reservation TEXT,
  compensates TEXT,
  provider TEXT,
  model TEXT,
  verdict TEXT,
  rules TEXT,
  clocked INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_leaf ON events (tenant, leaf);
CREATE UNIQUE INDEX events_stream ON events (stream, revision);
CREATE INDEX events_id ON events (tenant, id);
CREATE INDEX events_run ON events (tenant, run, revision, leaf, time, type) WHERE run IS NOT NULL;
CREATE INDEX events_type ON events (tenant, type, leaf);
CREATE INDEX events_actor ON events (tenant, actor, leaf);
CREATE INDEX events_principal ON events (tenant, principal, leaf);
CREATE INDEX events_time ON events (tenant, time);
CREATE INDEX events_agent ON events (tenant, agent, leaf) WHERE agent IS NOT NULL;
CREATE INDEX events_tool ON events (tenant, tool, leaf) WHERE tool IS NOT NULL;
CREATE INDEX events_call ON events (tenant, call, leaf) WHERE call IS NOT NULL;
CREATE INDEX events_compensates ON events (tenant, compensates, leaf) WHERE compensates IS NOT NULL;
CREATE INDEX events_reservation ON events (tenant, reservation, leaf) WHERE reservation IS NOT NULL;
CREATE INDEX events_rules ON events (tenant, leaf) WHERE rules IS NOT NULL;
CREATE INDEX events_clocked ON events (tenant, leaf) WHERE clocked = 1;
CREATE TABLE charges (
  seq INTEGER NOT NULL,
  agent TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  whole INTEGER NOT NULL,
  nano INTEGER NOT NULL,
  currency TEXT,
  provider TEXT,
  model TEXT
) STRICT;
CREATE INDEX charges_seq ON charges (seq);
CREATE TABLE states (stream TEXT PRIMARY KEY, state TEXT NOT NULL) STRICT;
CREATE TABLE foreign_streams (stream TEXT PRIMARY KEY) STRICT;
CREATE TABLE progress (one INTEGER PRIMARY KEY CHECK (one = 1), position TEXT NOT NULL, digest TEXT NOT NULL) STRICT;
CREATE VIRTUAL TABLE audit_text USING fts5 (tenant, body, content = '', tokenize = 'ascii');
`
