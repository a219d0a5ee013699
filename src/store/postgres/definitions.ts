/**
 * @module Compares the functions, triggers, indexes and constraints that protect the events, as the server describes them now, with those that this build
 * creates. Differences that depend on the server's version or its operator are ignored: whitespace, quotes, parentheses, storage parameters. Reading the
 * catalogue requires no privilege beyond connecting.
 */
import { migrations } from './schema.ts'
import { type Row, read, type Sessions } from './sessions.ts'

export type Kind = 'function' | 'trigger' | 'index' | 'constraint'

export interface AlteredObject {
  readonly kind: Kind
  readonly name: string
  /** `disabled`: a trigger that does not fire. */
  readonly how: 'gone' | 'disabled' | 'different'
}

interface Definition {
  readonly kind: Kind
  readonly name: string
  readonly text: string
}

interface Found extends Definition {
  readonly isEnabled: boolean
}

/** Tables that hold the history. */
const TABLES = ['events', 'event_groups'] as const

/** The function that a trigger calls is qualified with its schema: in the server's own text the schema depends on the search path of the session. */
const FOUND = `
SELECT 'function' AS kind, p.proname AS name, pg_get_functiondef(p.oid) AS text, true AS enabled
  FROM pg_proc p WHERE p.pronamespace = to_regnamespace($1) AND p.prokind = 'f'
UNION ALL
SELECT 'trigger', t.tgname, regexp_replace(pg_get_triggerdef(t.oid), 'EXECUTE FUNCTION .*', 'EXECUTE FUNCTION ') || n.nspname || '.' || p.proname,
    t.tgenabled IN ('O', 'A')
  FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_namespace n ON n.oid = p.pronamespace
  WHERE t.tgrelid = ANY ($2::text[]::regclass[]) AND NOT t.tgisinternal
UNION ALL
SELECT 'index', c.relname, pg_get_indexdef(c.oid) || CASE WHEN i.indisvalid AND i.indisready THEN '' ELSE ' invalid' END, true
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = ANY ($2::text[]::regclass[])
UNION ALL
SELECT 'constraint', c.conname, pg_get_constraintdef(c.oid), true FROM pg_constraint c WHERE c.conrelid = ANY ($2::text[]::regclass[])`

/** Objects that are not as this build creates them. Objects with other names are ignored. */
export async function alteredObjects(sessions: Sessions): Promise<readonly AlteredObject[]> {
  const { schema } = sessions.target
  const [row] = await read(sessions, `SELECT value FROM ${schema}.meta WHERE name = 'lock-namespace'`)
  const rows = await read(sessions, FOUND, [schema, TABLES.map((table) => `${schema}.${table}`)])
  const found = rows.map(foundIn)
  return expectedDefinitions(schema, Number(row?.value)).flatMap((expected) => {
    const how = howAltered(expected, found)
    return how === undefined ? [] : [{ kind: expected.kind, name: expected.name, how }]
  })
}

function foundIn({ kind, name, text, enabled }: Row): Found {
  return { kind: String(kind) as Kind, name: String(name), text: String(text), isEnabled: enabled === true }
}

/** A second function with the same name but other arguments counts as a difference: calls could resolve to it. */
function howAltered({ kind, name, text }: Definition, found: readonly Found[]): AlteredObject['how'] | undefined {
  const same = found.filter((each) => each.kind === kind && each.name === name)
  if (same.length === 0) return 'gone'
  if (same.some(({ isEnabled }) => !isEnabled)) return 'disabled'
  return same.every((each) => comparable(each.text) === comparable(text)) ? undefined : 'different'
}

/** The statements of the migrations, and the objects that PostgreSQL derives from the tables' clauses. */
function expectedDefinitions(schema: string, namespace: number): readonly Definition[] {
  const sql = migrations(schema, namespace)
    .map((migration) => migration.sql)
    .join('\n')
  const made = (kind: Kind, statement: RegExp): readonly Definition[] =>
    [...sql.matchAll(statement)].map(([text, name = '']) => ({ kind, name, text }))
  return [
    ...made('function', /CREATE FUNCTION \w+\.(\w+)[\s\S]*?\$body\$[\s\S]*?\$body\$/g),
    ...made('trigger', /CREATE TRIGGER (\w+)[^;]*/g),
    ...made('index', /CREATE (?:UNIQUE )?INDEX (\w+)[^;]*/g),
    { kind: 'index', name: 'events_pkey', text: `CREATE UNIQUE INDEX events_pkey ON ${schema}.events (position)` },
    {
      kind: 'index',
      name: 'events_stream_revision',
      text: `CREATE UNIQUE INDEX events_stream_revision ON ${schema}.events (stream, revision)`,
    },
    {
      kind: 'index',
      name: 'event_groups_pkey',
      text: `CREATE UNIQUE INDEX event_groups_pkey ON ${schema}.event_groups (grp)`,
    },
    { kind: 'constraint', name: 'event_groups_pkey', text: 'PRIMARY KEY (grp)' },
    { kind: 'constraint', name: 'events_pkey', text: 'PRIMARY KEY (position)' },
    { kind: 'constraint', name: 'events_stream_revision', text: 'UNIQUE (stream, revision)' },
    { kind: 'constraint', name: 'events_revision_check', text: 'CHECK (revision >= 0)' },
  ]
}

/** The body of a function is compared byte by byte. */
function comparable(definition: string): string {
  const [head = '', ...body] = definition.trimEnd().split(/\$(?:body|function)\$/)
  const plain = head
    .replace(/["']/g, '')
    .replace(/\b(?:OR REPLACE|VOLATILE|USING btree)\b/g, '')
    .replace(/ WITH \([^)]*\)/, '')
    .replace(/[()\s]/g, '')
  return [plain, ...body].join('$')
}
