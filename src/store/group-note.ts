/**
 * @module What the writers of a store attest of each other's groups of events, where positions have gaps by themselves. Each group is written with a
 * note of its writer: which events it had settled before, in a number of its own for each, without a gap, chained and sealed. A group has its number
 * once its answer is there, so one that failed leaves none. A writer's first note, and one every so often, names how far the others are and attests
 * the groups that they wrote last. What is deleted is missed, but for the end of what one process wrote last.
 */
import { createHash, randomBytes } from 'node:crypto'
import { z } from 'zod'
import { parseJsonOrUndefined } from '../../schemas/json.ts'
import type { Append, AppendResult } from './event-store.ts'

/** Events of one stream at positions that follow one another: the first position, how many, the stream, the first revision. */
const Stretch = z.tuple([z.int(), z.int(), z.string(), z.int()])
const Settled = z.strictObject({ at: z.array(Stretch).readonly(), digest: z.string() })
/** Of another writer: how many it had settled, and the chain over them. */
const Head = z.tuple([z.string(), z.int(), z.string()])
const Note = z.strictObject({
  v: z.literal(1),
  writer: z.string(),
  /** How many groups are settled that are in earlier notes, and the chain over them. */
  after: z.int(),
  chain: z.string(),
  settled: z.array(Settled).readonly(),
  /** `since`: the last group of before there were notes. `upTo`: the last group that was looked at. */
  opens: z.strictObject({ since: z.int(), upTo: z.int(), heads: z.array(Head).readonly() }).optional(),
})

export type SettledGroup = z.infer<typeof Settled>
export type GroupNote = z.infer<typeof Note>
export type WriterHead = z.infer<typeof Head>
export type NoteOpening = NonNullable<GroupNote['opens']>

/** One whose seal held. */
export function parseNote(text: string): GroupNote | undefined {
  return Note.safeParse(parseJsonOrUndefined(text)).data
}

function chained(before: string, { at, digest }: SettledGroup): string {
  return createHash('sha256')
    .update(JSON.stringify([before, at, digest]))
    .digest('base64url')
}

/** The number that a note goes up to, and the chain over all that is settled by then. */
export function headOf({ writer, after, chain, settled }: GroupNote): WriterHead {
  return [writer, after + settled.length, settled.reduce(chained, chain)]
}

export interface PlacedHeader {
  readonly position: number
  readonly header: string
}

/** Over the headers of events and where they lie, in their order. */
export function headersDigest(events: Iterable<PlacedHeader>): string {
  const hash = createHash('sha256')
  for (const { position, header } of events) hash.update(`${position}\n${header}\n`)
  return hash.digest('base64url')
}

/** What became of a group, or of a part of it; undefined where nothing of it was written. */
export function settledGroup(appends: readonly Append[], results: readonly AppendResult[]): SettledGroup | undefined {
  const at: z.infer<typeof Stretch>[] = []
  const events: PlacedHeader[] = []
  for (const [index, { stream, expectedRevision, records }] of appends.entries()) {
    const result = results[index]
    if (result?.kind !== 'appended') continue
    const first = Number(result.position) - records.length + 1
    at.push([first, records.length, stream, expectedRevision + 1])
    for (const [place, { header }] of records.entries()) events.push({ position: first + place, header })
  }
  return at.length === 0 ? undefined : { at, digest: headersDigest(events) }
}

export interface DraftNote {
  readonly note: GroupNote
  readonly upTo: number
}

/** What one process attests, in memory: it begins anew with each opening of the store. */
export class WriterNotes {
  readonly writer = randomBytes(12).toString('base64url')
  /** What acknowledged notes attest. */
  #after = 0
  #chain = ''
  /** Settled, and in no acknowledged note yet. */
  #settled: SettledGroup[] = []

  settle(group: SettledGroup): void {
    this.#settled.push(group)
  }

  draft(opens?: NoteOpening): DraftNote {
    const settled = [...this.#settled]
    const note = { v: 1, writer: this.writer, after: this.#after, chain: this.#chain, settled } as const
    return { note: opens === undefined ? note : { ...note, opens }, upTo: this.#after + settled.length }
  }

  /** Notes of groups side by side say the same again: what is in one of them that was written is not repeated. */
  written({ upTo }: DraftNote): void {
    for (const group of this.#settled.splice(0, Math.max(0, upTo - this.#after))) {
      this.#chain = chained(this.#chain, group)
      this.#after += 1
    }
  }
}

/** What a note adds to those before it, in the order of their groups. */
export interface TakenNote {
  readonly settled: readonly SettledGroup[]
  readonly faults: readonly string[]
}

interface Known {
  readonly number: number
  readonly chain: string
}

/** How far each writer's notes go. */
export class NoteChains {
  readonly #known = new Map<string, Known>()
  /** A writer that is not known yet is taken at its word: what came before was not read. */
  readonly #isPart: boolean

  constructor({ isPart = false } = {}) {
    this.#isPart = isPart
  }

  take(note: GroupNote): TakenNote {
    const { writer, after, chain, settled, opens } = note
    const faults: string[] = []
    const start = this.#isPart ? { number: after, chain } : { number: 0, chain: '' }
    let known = this.#known.get(writer) ?? start
    if (after > known.number) {
      faults.push(`notes of the writer ${writer} are gone: the groups ${known.number + 1} to ${after} that it settled`)
      known = { number: after, chain }
    }
    let number = after
    let value = chain
    const added: SettledGroup[] = []
    let isForked = number === known.number && value !== known.chain
    for (const group of settled) {
      value = chained(value, group)
      number += 1
      if (number === known.number) isForked ||= value !== known.chain
      if (number > known.number) added.push(group)
    }
    if (isForked) faults.push(`notes of the writer ${writer} do not continue one another`)
    if (number >= known.number) this.#known.set(writer, { number, chain: value })
    else if (!this.#known.has(writer)) this.#known.set(writer, known)
    faults.push(...(opens?.heads ?? []).flatMap((head) => this.#headFault(head) ?? []))
    return { settled: added, faults }
  }

  #headFault([writer, number, chain]: WriterHead): string | undefined {
    const known = this.#known.get(writer)
    if (known === undefined && this.#isPart) return undefined
    const exists = known !== undefined && known.number >= number
    if (!exists) return `the last notes of the writer ${writer} are gone, which another one saw`
    return known.number > number || known.chain === chain
      ? undefined
      : `notes of the writer ${writer} are not those that another one saw`
  }
}
