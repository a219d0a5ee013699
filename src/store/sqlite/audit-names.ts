/** @module Names compared by a part of them: the function that says whether a text has it, and the names of a column that do. */
import type { AuditColumn } from '../../../schemas/audit-fields.ts'
import { hasPart, inOneCase } from '../../../schemas/one-case.ts'
import type { AuditView } from '../audit-index.ts'
import type { Database } from './open.ts'

/** The function of a connection: a text as it is, a part in one case. */
export const HAS_PART = 'has_part'

/** Characters of the names whose answer is remembered; they are few, and come again with every row. */
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

/** Columns with an index by tenant and name, those with the fewest rows of a name first. */
export const INDEXED_NAMES = ['tool', 'agent', 'principal', 'actor', 'run'] as const satisfies readonly AuditColumn[]
type IndexedName = (typeof INDEXED_NAMES)[number]

/** Names that one lookup steps over, each by a step of the index: a millisecond or two. Where there are more, rows are looked at instead. */
const NAMES_MAX = 1_000
/** Of so many names the rows are looked up by their index; of more, they are so frequent that looking at rows finds them. */
const FOUND_MAX = 16
/** A question asks for its names with every stretch of the log. */
const LOOKUPS_KEPT = 32

type NamesStatement = ReturnType<typeof namesStatement>

interface Lookup {
  readonly names: readonly string[] | undefined
  /** Of the log: a name that came later is in no earlier row. */
  readonly size: number
}

export class NamesWithPart {
  readonly #statements: Readonly<Record<IndexedName, NamesStatement>>
  readonly #sizeOf: (tenant: string) => number
  /** The one made longest ago first. */
  readonly #lookups = new Map<string, Lookup>()

  constructor(db: Database, sizeOf: (tenant: string) => number) {
    this.#sizeOf = sizeOf
    const statements = INDEXED_NAMES.map((name) => [name, namesStatement(db, name)])
    this.#statements = Object.fromEntries(statements) as Record<IndexedName, NamesStatement>
  }

  /** The names of a column with the part in them; undefined where they are many, too many to look through, or not indexed. */
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

/** From name to name, whatever rows each has. */
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
