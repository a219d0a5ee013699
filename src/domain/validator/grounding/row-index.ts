/**
 * @module An index of the rows of all results, by name or by half of their leaves. Its size is bounded by structure: a leaf takes four
 * bytes whatever its text, so that 50 MB of results fit.
 */
import { normaliseEntity } from '../../../../projections/set-text.ts'
import type { Json } from '../../../../schemas/json.ts'
import type { Pauses, Yielding } from '../../yielding.ts'
import type { Scalar } from '../meaning/scalars.ts'
import type { ToolQuestion } from './answers.ts'
import { hashLongList, hashPair, hashScalar, hashText, type KnownHashes } from './hash.ts'
import { ownNameText } from './own-names.ts'
import { lastKey, type Row, type RowName, rowsIn } from './read-rows.ts'

/** Maximum number of rows and of leaves; beyond it, the index is truncated (about 100 MB). */
export const ROWS_MAX = 1_000_000
export const ROW_LEAVES_TOTAL_MAX = 12_000_000
/** Maximum number of rows that one look-up returns, latest first. */
const CANDIDATES_MAX = 64

const ROW_WORDS = 5
/** Maximum number of rows of untrusted tools that one look-up skips. */
const PASSED_OVER_MAX = 4_096
const NONE = 0xffffffff

/** Steps per row, and per leaf of it. */
const ROW_STEPS = 50
const LEAF_STEPS = 15

interface Adding {
  readonly revision: number
  readonly asked: ToolQuestion | undefined
  readonly bare: Recorded['bare']
  readonly places: Map<Row, number>
  readonly hashes: KnownHashes
  readonly pauses: Pauses
}

interface MemberHash {
  readonly rel: number
  readonly leaf: number
}

interface Shape {
  readonly rels: readonly string[]
  /** Index of each leaf; a list hashed as a whole has its path followed by `[]`. */
  readonly at: ReadonlyMap<string, number>
}

export interface RecordedRow {
  readonly row: number
  readonly revision: number
  readonly parent: number | undefined
  /** Undefined if the tool is unknown. */
  readonly tool: string | undefined
  /** Whether the call named the row, or its tool had answered about it before. Only then is the row a statement about the thing, not a mere mention. */
  readonly isAddressed: boolean
  /** The row represents a bare answer: it holds a few leaves of the thing that the call named. */
  readonly isBare: boolean
  readonly shape: Shape
  readonly hashOf: (rel: string) => number | undefined
}

/** A result, and the question of its call. */
interface Recorded {
  readonly value: Json
  readonly revision: number
  readonly asked?: ToolQuestion | undefined
  /** The value represents a bare answer, and consists of arguments of the call and what was answered. */
  readonly bare?: { readonly isMention: boolean } | undefined
}

type OfTool = (tool: string | undefined) => boolean

/** Plain JSON for a cached fold. */
export interface RowIndexDump {
  readonly seed: number
  readonly truncated: boolean
  readonly shapes: readonly (readonly string[])[]
  readonly tools: readonly string[]
  readonly rows: string
  readonly leaves: string
  readonly links: string
  readonly heads: readonly (readonly [number, number])[]
  readonly members: readonly number[]
  readonly known: readonly number[]
}

export class RowIndex {
  readonly seed: number
  truncated = false
  readonly #shapes: Shape[] = []
  readonly #shapeAt = new Map<string, number>()
  readonly #tools: string[] = []
  readonly #toolAt = new Map<string, number>()
  /**
   * Per row: shape, revision, parent, first leaf, source. The source is four times the tool's number (from 1; 0 if unknown), plus 2 if the
   * row represents a bare answer, plus 1 if the call addressed the row.
   */
  readonly #rows = new NumberList()
  readonly #leaves = new NumberList()
  /** Per link: row, next link. */
  readonly #links = new NumberList()
  readonly #heads = new Map<number, number>()
  /** Hashes of the members of lists, each with its row. */
  readonly #members = new Set<number>()

  /** Hashes of whole texts and numbers, including keys: a tool that answers `{"HAT001": ...}` names HAT001. */
  readonly #known = new Set<number>()

  constructor(seed: number) {
    this.seed = seed
  }

  static load(dump: RowIndexDump): RowIndex {
    const index = new RowIndex(dump.seed)
    index.truncated = dump.truncated
    for (const rels of dump.shapes) index.#shapeNamed(rels)
    for (const tool of dump.tools) index.#toolNamed(tool)
    index.#rows.load(dump.rows)
    index.#leaves.load(dump.leaves)
    index.#links.load(dump.links)
    for (const [key, link] of dump.heads) index.#heads.set(key, link)
    for (const member of dump.members) index.#members.add(member)
    for (const known of dump.known) index.#known.add(known)
    return index
  }

  dump(): RowIndexDump {
    return {
      seed: this.seed,
      truncated: this.truncated,
      shapes: this.#shapes.map(({ rels }) => rels),
      tools: this.#tools,
      rows: this.#rows.dump(),
      leaves: this.#leaves.dump(),
      links: this.#links.dump(),
      heads: [...this.#heads],
      members: [...this.#members],
      known: [...this.#known],
    }
  }

  get size(): number {
    return this.#rows.length / ROW_WORDS
  }

  get bytes(): number {
    const entries = this.#heads.size + this.#members.size + this.#known.size
    return this.#rows.bytes + this.#leaves.bytes + this.#links.bytes + 48 * entries + 2_048 * this.#shapes.length
  }

  /** Must not be interleaved with another call of `add`. */
  *add({ value, revision, asked, bare }: Recorded, pauses: Pauses): Yielding<void> {
    const adding: Adding = { revision, asked, bare, places: new Map(), hashes: new Map(), pauses }
    for (const row of rowsIn(value)) {
      if (this.truncated) return
      if (row.rels.length + row.lists.length > 0) adding.places.set(row, yield* this.#addRow(row, adding))
      this.truncated = this.size >= ROWS_MAX || this.#leaves.length >= ROW_LEAVES_TOTAL_MAX
      pauses.count(ROW_STEPS + LEAF_STEPS * row.rels.length)
      if (pauses.due()) yield
    }
  }

  *#addRow(row: Row, adding: Adding): Yielding<number> {
    const { revision, asked, bare, places, hashes, pauses } = adding
    const number = this.size
    const parent = row.parent === undefined ? undefined : places.get(row.parent)
    const leaves = this.hashesOf(row)
    const own = (asked?.by ?? []).filter(
      ([key, text]) => Object.hasOwn(row.object, key) && ownNameText(key, row.object[key]) === text,
    )
    const isAddressed =
      bare?.isMention !== true &&
      (own.length > 0 || (parent !== undefined && this.row(parent).isAddressed) || this.#isAddressed(row, asked))
    const tool = asked === undefined ? 0 : this.#toolNamed(asked.tool)
    const source = 4 * tool + (bare === undefined ? 0 : 2) + (isAddressed ? 1 : 0)
    this.#rows.push(this.#shapeOf(row), revision, parent ?? NONE, this.#leaves.length, source)
    for (const leaf of leaves) this.#leaves.push(leaf)
    for (const { rel, list } of row.lists) {
      const relHash = hashText(this.seed, rel)
      const addMember = (member: Json, hash: number): void => {
        if (typeof member !== 'object') this.#members.add(hashPair(number, relHash, hash))
      }
      this.#leaves.push(yield* hashLongList({ seed: this.seed, key: lastKey(rel), list }, hashes, pauses, addMember))
    }
    for (const name of row.names) this.#link(this.#nameKey(name), number)
    for (const [, text] of own) this.#link(this.#nameKey({ text }), number)
    for (const half of this.#halves(row, leaves)) this.#link(half, number)
    return number
  }

  /** The hashes of a row's leaves, in order. */
  hashesOf({ rels, values }: Row): readonly number[] {
    return rels.map((rel, i) => this.leafHash(rel, values[i] as Scalar))
  }

  /** Whether the call named the row, or its tool had answered about the name before. If the arguments are unknown, the row counts as addressed. */
  #isAddressed(row: Row, asked: ToolQuestion | undefined): boolean {
    if (asked?.named === undefined) return true
    const { named, tool } = asked
    return row.names.some(
      (name) =>
        named.includes(name.text.slice(name.text.indexOf('#') + 1)) ||
        this.named(name, (answered) => answered === tool).length > 0,
    )
  }

  /** Rows with the name, from the selected tools, latest first. */
  named(name: RowName, isOf: OfTool): readonly RecordedRow[] {
    return this.#linked(this.#nameKey(name), isOf)
  }

  /** Rows of which half of the leaves are equal, so that a row is found although a leaf has changed. */
  alike(row: Row, hashes: readonly number[], isOf: OfTool): readonly RecordedRow[] {
    return this.#halves(row, hashes).flatMap((half) => this.#linked(half, isOf))
  }

  row(number: number): RecordedRow {
    const [shapeAt, revision, parent, first, source = 0] = [0, 1, 2, 3, 4].map((i) =>
      this.#rows.at(number * ROW_WORDS + i),
    )
    const shape = this.#shapes[shapeAt as number] as Shape
    return {
      row: number,
      revision: revision as number,
      parent: parent === NONE ? undefined : parent,
      tool: this.#tools[(source >> 2) - 1],
      isBare: (source & 2) !== 0,
      isAddressed: source % 2 === 1,
      shape,
      hashOf: (rel) => {
        const at = shape.at.get(rel)
        return at === undefined ? undefined : this.#leaves.at((first as number) + at)
      },
    }
  }

  /** The hash that `hasMember` expects. */
  memberHash(rel: string, member: Scalar): MemberHash {
    return { rel: hashText(this.seed, rel), leaf: this.leafHash(rel, member) }
  }

  hasMember({ row }: RecordedRow, { rel, leaf }: MemberHash): boolean {
    return this.#members.has(hashPair(row, rel, leaf))
  }

  leafHash(rel: string, value: Scalar): number {
    return hashScalar(this.seed, lastKey(rel), value)
  }

  /** Whether a text or a number was recorded, as a whole. */
  knows(value: string | number): boolean {
    return this.#known.has(this.#valueKey(value))
  }

  know(value: string | number): void {
    this.#known.add(this.#valueKey(value))
  }

  #valueKey(value: string | number): number {
    return hashText(this.seed ^ 0x1b873593, typeof value === 'number' ? `#${value}` : `"${normaliseEntity(value)}`)
  }

  #shapeOf(row: Row): number {
    return this.#shapeNamed([...row.rels, ...row.lists.map(({ rel }) => `${rel}[]`)])
  }

  #shapeNamed(rels: readonly string[]): number {
    const text = rels.join('\n')
    const known = this.#shapeAt.get(text)
    if (known !== undefined) return known
    this.#shapeAt.set(text, this.#shapes.length)
    return this.#shapes.push({ rels, at: new Map(rels.map((rel, i) => [rel, i])) }) - 1
  }

  /** Number of the tool, from 1. */
  #toolNamed(tool: string): number {
    const known = this.#toolAt.get(tool) ?? this.#tools.push(tool)
    this.#toolAt.set(tool, known)
    return known
  }

  #nameKey({ text }: Pick<RowName, 'text'>): number {
    return hashText(this.seed ^ 0x5bd1e995, text)
  }

  /** The hashes of the two halves of a row. Rows of two leaves are not specific, so they match only within the same parent. */
  #halves({ rels, parent, key }: Row, hashes: readonly number[]): readonly number[] {
    if (rels.length < 2) return []
    const scopes = rels.length > 2 ? [''] : (parent?.names ?? []).map(({ text }) => `${text}\n${key}`)
    const middle = rels.length >> 1
    const shape = rels.join('\n')
    return scopes.flatMap((scope) =>
      [0, 1].map((half) => {
        let hash = hashText(this.seed, `${half}\n${scope}\n${shape}`)
        for (let i = half * middle; i < (half === 0 ? middle : rels.length); i++) {
          hash = hashPair(this.seed, hash, hashes[i] as number)
        }
        return hash
      }),
    )
  }

  #link(key: number, row: number): void {
    const before = this.#heads.get(key) ?? NONE
    if (before !== NONE && this.#links.at(before * 2) === row) return
    this.#heads.set(key, this.#links.length / 2)
    this.#links.push(row, before)
  }

  #linked(key: number, isOf: OfTool): readonly RecordedRow[] {
    const found: RecordedRow[] = []
    let link = this.#heads.get(key) ?? NONE
    for (let passed = 0; link !== NONE && found.length < CANDIDATES_MAX && passed < PASSED_OVER_MAX; passed += 1) {
      const row = this.row(this.#links.at(link * 2))
      if (isOf(row.tool)) found.push(row)
      link = this.#links.at(link * 2 + 1)
    }
    return found
  }
}

// A growing list of unsigned 32-bit numbers, four bytes each.

const FIRST_SIZE = 64

class NumberList {
  #numbers = new Uint32Array(FIRST_SIZE)
  #length = 0

  get length(): number {
    return this.#length
  }

  get bytes(): number {
    return this.#numbers.byteLength
  }

  push(...numbers: readonly number[]): void {
    if (this.#length + numbers.length > this.#numbers.length) {
      const grown = new Uint32Array(2 * this.#numbers.length + numbers.length)
      grown.set(this.#numbers)
      this.#numbers = grown
    }
    this.#numbers.set(numbers, this.#length)
    this.#length += numbers.length
  }

  at(place: number): number {
    return this.#numbers[place] ?? 0
  }

  dump(): string {
    return Buffer.from(this.#numbers.buffer, 0, 4 * this.#length).toString('base64')
  }

  load(text: string): void {
    const bytes = Buffer.from(text, 'base64')
    this.#length = bytes.length >> 2
    this.#numbers = new Uint32Array(Math.max(FIRST_SIZE, this.#length))
    for (let i = 0; i < this.#length; i++) this.#numbers[i] = bytes.readUInt32LE(4 * i)
  }
}
