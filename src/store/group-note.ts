/**
 * @module Notes with which the writers of a store attest each other's groups of events, for stores whose positions have gaps in normal operation. Each
 * group is written together with a note of its writer, which lists the groups that the writer settled before; they are numbered per writer without gaps,
 * chained and sealed. A group gets its number once its result is known, so a failed group leaves no gap. A writer's first note, and a later one at
 * intervals, states how far the other writers' chains go and attests their last groups. Every deletion is therefore detected, except of the groups that
 * one process wrote last.
 */
import { createHash, randomBytes } from 'node:crypto'
import { z } from 'zod'
import { parseJsonOrUndefined } from '../../schemas/json.ts'
import type { Append, AppendResult } from './event-store.ts'

/** Events of one stream at consecutive positions: first position, number of events, stream, first revision. */
const Stretch = z.tuple([z.int(), z.int(), z.string(), z.int()])
const Settled = z.strictObject({ at: z.array(Stretch).readonly(), digest: z.string() })
/** State of another writer: its id, the number of groups that it had settled, and the chain over them. */
const Head = z.tuple([z.string(), z.int(), z.string()])
const Note = z.strictObject({
  v: z.literal(1),
  writer: z.string(),
  /** Number of settled groups in earlier notes; `chain` is the chain over them. */
  after: z.int(),
  chain: z.string(),
  settled: z.array(Settled).readonly(),
  /** `since`: the last group from before notes were written. `upTo`: the last group that was examined. */
  opens: z.strictObject({ since: z.int(), upTo: z.int(), heads: z.array(Head).readonly() }).optional(),
})

export type SettledGroup = z.infer<typeof Settled>
export type GroupNote = z.infer<typeof Note>
export type WriterHead = z.infer<typeof Head>
export type NoteOpening = NonNullable<GroupNote['opens']>

/** Parses a note whose seal was verified. */
export function parseNote(text: string): GroupNote | undefined {
  return Note.safeParse(parseJsonOrUndefined(text)).data
}

function chained(before: string, { at, digest }: SettledGroup): string {
  return createHash('sha256')
    .update(JSON.stringify([before, at, digest]))
    .digest('base64url')
}

/** The writer, the number of groups settled by the end of this note, and the chain over all of them. */
export function headOf({ writer, after, chain, settled }: GroupNote): WriterHead {
  return [writer, after + settled.length, settled.reduce(chained, chain)]
}

export interface PlacedHeader {
  readonly position: number
  readonly header: string
}

/** Digest over the headers of events and their positions, in order. */
export function headersDigest(events: Iterable<PlacedHeader>): string {
  const hash = createHash('sha256')
  for (const { position, header } of events) hash.update(`${position}\n${header}\n`)
  return hash.digest('base64url')
}

/** The settled part of a group; undefined if none of it was written. */
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

/** What one process attests, in memory: starts anew each time the store is opened. */
export class WriterNotes {
  readonly writer = randomBytes(12).toString('base64url')
  /** Number of groups that acknowledged notes attest. */
  #after = 0
  #chain = ''
  /** Settled groups that are not in an acknowledged note yet. */
  #settled: SettledGroup[] = []

  settle(group: SettledGroup): void {
    this.#settled.push(group)
  }

  draft(opens?: NoteOpening): DraftNote {
    const settled = [...this.#settled]
    const note = { v: 1, writer: this.writer, after: this.#after, chain: this.#chain, settled } as const
    return { note: opens === undefined ? note : { ...note, opens }, upTo: this.#after + settled.length }
  }

  /** Notes of concurrent groups repeat each other: groups in an acknowledged note are not repeated in later ones. */
  written({ upTo }: DraftNote): void {
    for (const group of this.#settled.splice(0, Math.max(0, upTo - this.#after))) {
      this.#chain = chained(this.#chain, group)
      this.#after += 1
    }
  }
}

/** What a note adds to the notes before it, in the order of its groups. */
export interface TakenNote {
  readonly settled: readonly SettledGroup[]
  readonly faults: readonly string[]
}

interface Known {
  readonly number: number
  readonly chain: string
}

/** The notes of a writer that come before the one that is taken, the last ones first. */
export type EarlierNotes = (writer: string) => AsyncIterable<GroupNote>

/** How far the notes of each writer go. */
export class NoteChains {
  readonly #known = new Map<string, Known>()
  /**
   * Present if only a part of the notes is read: the first note of a writer in it is then trusted. That note may have been written before earlier ones of
   * its writer, which has two groups under way: these are read where a later note says that the chain had gone further.
   */
  readonly #earlier: EarlierNotes | undefined

  constructor(earlier?: EarlierNotes) {
    this.#earlier = earlier
  }

  async take(note: GroupNote): Promise<TakenNote> {
    const { writer, after, chain, settled, opens } = note
    const heads = opens?.heads ?? []
    for (const [named, number] of [[writer, after] as const, ...heads]) await this.#lookBack(named, number)
    const faults: string[] = []
    const start = this.#earlier === undefined ? { number: 0, chain: '' } : { number: after, chain }
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
    faults.push(...heads.flatMap((head) => this.#headFault(head) ?? []))
    return { settled: added, faults }
  }

  async #lookBack(writer: string, upTo: number): Promise<void> {
    let known = this.#known.get(writer)
    if (known === undefined || known.number >= upTo || this.#earlier === undefined) return
    for await (const note of this.#earlier(writer)) {
      const [, number, chain] = headOf(note)
      if (number > known.number) known = { number, chain }
      if (number >= upTo) break
    }
    this.#known.set(writer, known)
  }

  #headFault([writer, number, chain]: WriterHead): string | undefined {
    const known = this.#known.get(writer)
    if (known === undefined && this.#earlier !== undefined) return undefined
    const exists = known !== undefined && known.number >= number
    if (!exists) return `the last notes of the writer ${writer} are gone, which another one saw`
    return known.number > number || known.chain === chain
      ? undefined
      : `notes of the writer ${writer} are not those that another one saw`
  }
}
