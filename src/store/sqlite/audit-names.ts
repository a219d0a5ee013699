/** @module Searches names by substring: the SQL function that tests a text, and the lookup of matching names of a column. */
import type { AuditColumn } from '../../../schemas/audit-fields.ts'
import { hasPart, inOneCase } from '../../../schemas/one-case.ts'
import type { AuditView } from '../audit-index.ts'
import type { Database } from './open.ts'

/** Name of the SQL function. It takes a text as stored and a part that is case-folded. */
export const HAS_PART = 'has_part'

/** Limit of the cache of results, in characters of the names; names are few and recur with every row. */
const REMEMBERED_CHARS = 256 * 1024

export function withPartFunction(db: Database): void {
  const known = new Map<string, number>()
  let [knownPart, chars] = ['', 0]
  db.function(HAS_PART, { deterministic: true }, (text: unknown, part: unknown): number => {
    if (typeof text !== 'string' || typeof part !== 'string') return 0
    if (part !== knownPart || chars > REMEMBERED_CHARS) {
      known.clear()
      ;[knownPart, chars] = [part, 0]
    }
    const remembered = known.get(text)
    if (remembered !== undefined) return remembered
    const found = inOneCase(text).includes(part) ? 1 : 0
    known.set(text, found)
    chars += text.length
    return found
  })
}

/** Columns with an index on tenant and name, those with the fewest rows per name first. */
export const INDEXED_NAMES = ['tool', 'agent', 'principal', 'actor', 'run'] as const satisfies readonly AuditColumn[]
type IndexedName = (typeof INDEXED_NAMES)[number]

/** Maximum number of names that one lookup visits, one index step each: a millisecond or two. If there are more, rows are examined instead. */
const NAMES_MAX = 1_000
/** Up to this number of matching names, rows are looked up by index; with more, matches are so frequent that scanning rows finds them quickly. */
const FOUND_MAX = 16
/** Number of cached lookups: a query needs its names again for every window of the log. */
const LOOKUPS_KEPT = 32

type NamesStatement = ReturnType<typeof namesStatement>

interface Lookup {
  readonly names: readonly string[] | undefined
  /** Size of the log at the time of the lookup: a later name occurs in no earlier row. */
  readonly size: number
}

export class NamesWithPart {
  readonly #statements: Readonly<Record<IndexedName, NamesStatement>>
  readonly #sizeOf: (tenant: string) => number
  /** In order of creation, oldest first. */
  readonly #lookups = new Map<string, Lookup>()

  constructor(db: Database, sizeOf: (tenant: string) => number) {
    this.#sizeOf = sizeOf
    const statements = INDEXED_NAMES.map((name) => [name, namesStatement(db, name)])
    this.#statements = Object.fromEntries(statements) as Record<IndexedName, NamesStatement>
  }

  /** The names of a column that contain the part; undefined if there are many, too many names to search, or the column is not indexed. */
  of({ tenant, size }: AuditView, name: AuditColumn, part: string): readonly string[] | undefined {
    const column = INDEXED_NAMES.find((each) => each === name)
    if (column === undefined) return undefined
    const key = JSON.stringify([tenant, column, part])
    const known = this.#lookups.get(key)
    if (known !== undefined && known.size >= size) return known.names
    const lookup = { size: this.#sizeOf(tenant), names: this.#find(tenant, column, part) }
    this.#lookups.delete(key)
    this.#lookups.set(key, lookup)
    for (const [oldest] of this.#lookups) if (this.#lookups.size > LOOKUPS_KEPT) this.#lookups.delete(oldest)
    return lookup.names
  }

  #find(tenant: string, column: IndexedName, part: string): readonly string[] | undefined {
    const all = this.#statements[column].all(tenant, tenant, NAMES_MAX + 1)
    if (all.length > NAMES_MAX) return undefined
    const found = all.filter((name) => hasPart(name, part))
    return found.length > FOUND_MAX ? undefined : found
  }
}

/** Steps from name to name, regardless of the number of rows per name. */
function namesStatement(db: Database, name: IndexedName) {
  return db
    .prepare<unknown[], string>(
      `WITH RECURSIVE names (name) AS (
        SELECT min(${name}) FROM events WHERE tenant = ? AND ${name} IS NOT NULL
        UNION ALL
        SELECT (SELECT min(e.${name}) FROM events e WHERE e.tenant = ? AND e.${name} > names.name) FROM names WHERE names.name IS NOT NULL
      ) SELECT name FROM names WHERE name IS NOT NULL LIMIT ?`,
    )
    .pluck()
}
