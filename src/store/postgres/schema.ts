/**
 * @module Tables, functions and triggers of the store, as numbered migrations. Each statement is written in the form in which PostgreSQL describes the
 * created object (`definitions.ts` compares both).
 *
 * A position is `group * GROUP_SIZE + place`: each write transaction draws one group number, so that the records of an append are consecutive. Gaps occur
 * in normal operation and prove nothing; written events are attested by the notes of the groups (`../group-note.ts`). Group numbers are drawn before the
 * commit, so a reader must not pass a group that is still being written. Every writer therefore first takes a shared advisory lock whose key is the last
 * group number drawn at that time: all groups that it will draw are above it. A reader reads the sequence first and the locks second; below the smaller of
 * the two no new event can appear, because PostgreSQL makes a transaction visible before it releases its locks. Reading below the snapshot's xmin instead
 * would give positions that a dump and restore reorders, and any long transaction of another program on the same server would block every reader.
 */

export const SCHEMA_VERSION = 4

/** Places in a group: more than the maximum number of records in one transaction. */
export const GROUP_SIZE = 65_536
/** Key in `meta`: the last group from before notes were written. */
export const NOTED_AFTER = 'noted-after'
/** Keys of two-part advisory locks have 32 bits; groups are compared modulo this. */
const LOCK_KEYS = 2 ** 31

export interface Migration {
  readonly version: number
  readonly sql: string
}

/** `namespace` is a number unique to this ledger, for its advisory locks: other programs in the database use other numbers. */
export function migrations(schema: string, namespace: number): readonly Migration[] {
  return [
    { version: 1, sql: first(schema, namespace) },
    { version: 2, sql: sharedCopies(schema) },
    { version: 3, sql: groupFunction(schema) },
    { version: 4, sql: groupNotes(schema) },
  ]
}

function first(s: string, namespace: number): string {
  return [tables(s), immutability(s), placeFunctions(s, namespace), appendFunction(s)].join('\n')
}

/** Texts are compared by code unit (collation "C"): the order of names and the bounds of a tenant's streams do not depend on a locale. */
function tables(s: string): string {
  return `
CREATE SEQUENCE ${s}.append_groups;
CREATE TABLE ${s}.events (
  position bigint PRIMARY KEY,
  stream text COLLATE "C" NOT NULL,
  revision bigint NOT NULL CHECK (revision >= 0),
  tenant text COLLATE "C" GENERATED ALWAYS AS (
    CASE WHEN stream LIKE 'ledger-%' THEN substr(stream, 8) ELSE substring(stream from '^(?:run|access)-([^.]*)[.]') END
  ) STORED,
  header text COLLATE "C" NOT NULL,
  salt bytea NOT NULL,
  data text COLLATE "C" NOT NULL,
  request text COLLATE "C",
  bytes integer GENERATED ALWAYS AS (octet_length(header) + octet_length(salt) + octet_length(data)) STORED,
  CONSTRAINT events_stream_revision UNIQUE (stream, revision)
);
CREATE UNIQUE INDEX events_stream_request ON ${s}.events (stream, request) WHERE request IS NOT NULL;
CREATE INDEX events_tenant_position ON ${s}.events (tenant, position);`
}

/** The triggers also bind the owner of the tables: to alter history one of them has to be altered first, which every start and `verify` detect. */
function immutability(s: string): string {
  return `
CREATE FUNCTION ${s}.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  RAISE EXCEPTION 'append-only: no %', lower(TG_OP) USING ERRCODE = 'restrict_violation';
END $body$;
CREATE TRIGGER events_append_only BEFORE DELETE OR UPDATE ON ${s}.events FOR EACH ROW EXECUTE FUNCTION ${s}.refuse_change();
CREATE TRIGGER events_no_truncate BEFORE TRUNCATE ON ${s}.events FOR EACH STATEMENT EXECUTE FUNCTION ${s}.refuse_change();`
}

function placeFunctions(s: string, namespace: number): string {
  const drawn = `SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM ${s}.append_groups`
  return `
CREATE FUNCTION ${s}.next_group() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $body$
DECLARE
  before bigint := (${drawn});
BEGIN
  PERFORM pg_advisory_xact_lock_shared(${namespace}, (before % ${LOCK_KEYS})::integer);
  RETURN nextval('${s}.append_groups');
END $body$;
CREATE FUNCTION ${s}.settled_group() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $body$
DECLARE
  drawn bigint := (${drawn});
  behind bigint;
BEGIN
  -- How far behind \`drawn\` the oldest writer under way began; one that began later lies above it and does not count.
  SELECT max(distance) INTO behind FROM (
    SELECT (drawn - objid::bigint + ${LOCK_KEYS}) % ${LOCK_KEYS} AS distance FROM pg_locks
    WHERE locktype = 'advisory' AND classid = ${namespace} AND objsubid = 2
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  ) writers WHERE distance < ${LOCK_KEYS / 2};
  RETURN drawn - coalesce(behind, 0);
END $body$;`
}

/** Called by processes from before version 3, which may run concurrently with newer ones. */
function appendFunction(s: string): string {
  return `
CREATE FUNCTION ${s}.append_events(
  a_stream text[], a_expected bigint[],
  r_append integer[], r_index integer[], r_header text[], r_salt bytea[], r_data text[], r_request text[]
) RETURNS TABLE (place integer, outcome text, revision bigint, request text)
LANGUAGE plpgsql VOLATILE SET enable_seqscan TO off AS $body$
#variable_conflict use_column
DECLARE
  drawn bigint := ${s}.next_group();
BEGIN
  -- A server that answers before its disk has the commit would acknowledge what a crash takes back.
  IF current_setting('synchronous_commit') IN ('off', 'local') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  RETURN QUERY WITH heads AS MATERIALIZED (
    SELECT a.ord::integer AS ord, a.stream, a.expected,
      coalesce((SELECT max(e.revision) FROM ${s}.events e WHERE e.stream = a.stream COLLATE "C"), -1) AS head
    FROM unnest(a_stream, a_expected) WITH ORDINALITY AS a (stream, expected, ord)
  ), taken AS MATERIALIZED (
    SELECT DISTINCT ON (r.append) r.append, found.revision, found.request
    FROM unnest(r_append, r_request) AS r (append, request)
    CROSS JOIN LATERAL (
      SELECT e.revision, e.request FROM ${s}.events e WHERE e.stream = a_stream[r.append] COLLATE "C" AND e.request = r.request COLLATE "C"
      LIMIT 1
    ) found WHERE r.request IS NOT NULL
  ), fitting AS MATERIALIZED (
    SELECT h.ord, h.stream, h.expected FROM heads h
    WHERE h.head = h.expected AND NOT EXISTS (SELECT FROM taken t WHERE t.append = h.ord)
  ), written AS (
    INSERT INTO ${s}.events (position, stream, revision, header, salt, data, request)
      SELECT drawn * ${GROUP_SIZE} + r.ord - 1, f.stream, f.expected + 1 + r.index, r.header, r.salt, r.data, r.request
      FROM unnest(r_append, r_index, r_header, r_salt, r_data, r_request) WITH ORDINALITY AS r (append, index, header, salt, data, request, ord)
      JOIN fitting f ON f.ord = r.append
      ORDER BY f.stream COLLATE "C", r.index
  )
  SELECT h.ord,
    CASE WHEN h.head <> h.expected THEN 'conflict' WHEN t.append IS NOT NULL THEN 'duplicate' ELSE 'appended' END,
    CASE WHEN h.head <> h.expected THEN h.head WHEN t.append IS NOT NULL THEN t.revision ELSE drawn END,
    t.request::text
  FROM heads h LEFT JOIN taken t ON t.append = h.ord;
END $body$;`
}

/**
 * Writes those appends of a group, each to a different stream, that can be written. Returns one row with the group and the number of records written
 * (`appended`), and one row for each append that was not written: its head if the expected revision is wrong (`conflict`), or the revision that holds its
 * request (`duplicate`). Rows are inserted in the order given: callers sort them by stream, so that concurrent calls cannot deadlock. If another writer
 * takes a revision meanwhile, the unique constraint aborts the whole statement.
 *
 * Its statements are planned once per session. PostgreSQL would otherwise plan them for each group, by the lengths of its arrays, which takes as long as
 * writing twenty rows. For the plan to fit every length it joins nothing: a record finds its append by index in an array.
 */
function groupFunction(
  s: string,
  noted?: { readonly parameters: string; readonly all: string; readonly some: string },
): string {
  const name = noted === undefined ? 'append_group' : 'append_group_noted'
  const insert = (
    where: string,
  ): string => `INSERT INTO ${s}.events (position, stream, revision, header, salt, data, request)
      SELECT drawn * ${GROUP_SIZE} + r.ord - 1, r.stream, r.revision, r.header, r.salt, r.data, r.request
      FROM unnest(r_append, r_stream, r_revision, r_header, r_salt, r_data, r_request)
        WITH ORDINALITY AS r (append, stream, revision, header, salt, data, request, ord) ${where}`
  return `
CREATE FUNCTION ${s}.${name}(
  a_stream text[], a_expected bigint[],
  r_append integer[], r_stream text[], r_revision bigint[], r_header text[], r_salt bytea[], r_data text[], r_request text[]${noted?.parameters ?? ''}
) RETURNS TABLE (outcome text, place integer, revision bigint, request text)
LANGUAGE plpgsql VOLATILE SET enable_seqscan TO off SET plan_cache_mode TO force_generic_plan AS $body$
#variable_conflict use_column
DECLARE
  drawn bigint := ${s}.next_group();
  heads bigint[];
  written integer;
  t_append integer[] := '{}';
  t_revision bigint[];
  t_request text[];
BEGIN
  -- A server that answers before its disk has the commit would acknowledge what a crash takes back.
  IF current_setting('synchronous_commit') IN ('off', 'local') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  heads := ARRAY(
    SELECT coalesce((SELECT max(e.revision) FROM ${s}.events e WHERE e.stream = a.stream COLLATE "C"), -1)
    FROM unnest(a_stream) WITH ORDINALITY AS a (stream, ord) ORDER BY a.ord
  );
  IF array_remove(r_request, NULL) <> '{}' THEN
    SELECT coalesce(array_agg(t.append), '{}'), array_agg(t.revision), array_agg(t.request) INTO t_append, t_revision, t_request FROM (
      SELECT DISTINCT ON (r.append) r.append, found.revision, found.request
      FROM unnest(r_append, r_stream, r_request) AS r (append, stream, request)
      CROSS JOIN LATERAL (
        SELECT e.revision, e.request FROM ${s}.events e WHERE e.stream = r.stream COLLATE "C" AND e.request = r.request COLLATE "C"
        LIMIT 1
      ) found WHERE r.request IS NOT NULL AND heads[r.append] = a_expected[r.append]
    ) t;
  END IF;
  IF heads = a_expected AND t_append = '{}' THEN${noted?.all ?? ''}
    ${insert('')};
  ELSE${noted?.some ?? ''}
    ${insert('WHERE heads[r.append] = a_expected[r.append] AND r.append <> ALL (t_append)')};
  END IF;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN QUERY VALUES ('appended', written, drawn, NULL::text);
  IF t_append <> '{}' THEN
    RETURN QUERY SELECT 'duplicate', t.append, t.revision, t.request FROM unnest(t_append, t_revision, t_request) AS t (append, revision, request);
  END IF;
  IF heads <> a_expected THEN
    RETURN QUERY SELECT 'conflict', a.ord::integer, a.head, NULL::text
      FROM unnest(heads, a_expected) WITH ORDINALITY AS a (head, expected, ord) WHERE a.head <> a.expected;
  END IF;
END $body$;
${grantToWriters(s, `EXECUTE ON FUNCTION ${s}.${name}`)}`
}

/**
 * One row per group of events, with the note of its writer (`../group-note.ts`). The note is null if the writer attests nothing, as processes from before
 * version 4 do: a trigger adds the row that such a writer omits. A group after this migration without a row has therefore lost it. The table is locked
 * during the migration: writers that wait for the lock get their rows, and the groups from before are those up to the last existing event.
 */
function groupNotes(s: string): string {
  const note = `
    INSERT INTO ${s}.event_groups (grp, writer, opens, note, seal)
      SELECT drawn, n_writer, n_opens, n_note, n_seal`
  const fitting = `heads[a.ord] = a_expected[a.ord] AND a.ord <> ALL (t_append)`
  return `
LOCK TABLE ${s}.events IN SHARE ROW EXCLUSIVE MODE;
INSERT INTO ${s}.meta (name, value) SELECT '${NOTED_AFTER}', coalesce(max(position), 0) / ${GROUP_SIZE} FROM ${s}.events;
CREATE TABLE ${s}.event_groups (
  grp bigint PRIMARY KEY,
  writer text COLLATE "C",
  opens boolean NOT NULL DEFAULT false,
  note text COLLATE "C",
  seal text COLLATE "C"
);
CREATE INDEX event_groups_writer ON ${s}.event_groups (writer, grp) WHERE writer IS NOT NULL;
CREATE INDEX event_groups_opens ON ${s}.event_groups (grp) WHERE opens;
CREATE TRIGGER event_groups_append_only BEFORE DELETE OR UPDATE ON ${s}.event_groups FOR EACH ROW EXECUTE FUNCTION ${s}.refuse_change();
CREATE TRIGGER event_groups_no_truncate BEFORE TRUNCATE ON ${s}.event_groups FOR EACH STATEMENT EXECUTE FUNCTION ${s}.refuse_change();
CREATE FUNCTION ${s}.note_group() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  INSERT INTO ${s}.event_groups (grp) SELECT DISTINCT position / ${GROUP_SIZE} FROM written ON CONFLICT DO NOTHING;
  RETURN NULL;
END $body$;
CREATE TRIGGER events_note_group AFTER INSERT ON ${s}.events REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION ${s}.note_group();
${groupFunction(s, {
  parameters: `,
  n_writer text, n_opens boolean, n_note text, n_seal text`,
  all: `${note};`,
  some: `${note}
      WHERE EXISTS (SELECT FROM generate_subscripts(heads, 1) AS a (ord) WHERE ${fitting});`,
})}
${grantToWriters(s, `SELECT, INSERT ON ${s}.event_groups`)}
${grantToWriters(s, `EXECUTE ON FUNCTION ${s}.note_group`)}`
}

/** Shared copies of the files that follow the store (src/store/shared-copies.ts). Roles that may append may replace them. */
function sharedCopies(s: string): string {
  return `
CREATE TABLE ${s}.copies (
  name text COLLATE "C" PRIMARY KEY,
  text text NOT NULL,
  seal text NOT NULL,
  written_at timestamptz NOT NULL
);
CREATE TABLE ${s}.copy_parts (
  name text COLLATE "C" NOT NULL REFERENCES ${s}.copies (name) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  digest text COLLATE "C" NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (name, digest)
);
${grantToWriters(s, `SELECT, INSERT, UPDATE, DELETE ON ${s}.copies, ${s}.copy_parts`)}`
}

/** Grants to the existing writers, so that a migration need not be told their names: they are the roles that may insert events. */
function grantToWriters(s: string, what: string): string {
  return `DO $body$
DECLARE
  writer text;
BEGIN
  FOR writer IN SELECT DISTINCT a.grantee::regrole::text FROM pg_class c, aclexplode(c.relacl) a
    WHERE c.oid = '${s}.events'::regclass AND a.privilege_type = 'INSERT' AND a.grantee <> 0 AND a.grantee <> c.relowner
  LOOP
    EXECUTE 'GRANT ${what} TO ' || writer;
  END LOOP;
END $body$;`
}

/** Privileges for a role that reads and appends but cannot alter events. */
export function grants(s: string, role: string): string {
  return `
GRANT USAGE ON SCHEMA ${s} TO ${role};
GRANT SELECT, INSERT ON ${s}.events, ${s}.event_groups TO ${role};
GRANT SELECT, INSERT, UPDATE, DELETE ON ${s}.copies, ${s}.copy_parts TO ${role};
GRANT SELECT ON ${s}.meta TO ${role};
GRANT USAGE, SELECT ON SEQUENCE ${s}.append_groups TO ${role};
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${s} TO ${role};`
}
