/** @module The notes that this process writes with its groups, and what it attests of other writers. */
import type pg from 'pg'
import type { Append, AppendResult, NoteSeal } from '../event-store.ts'
import {
  type DraftNote,
  headersDigest,
  headOf,
  type NoteOpening,
  parseNote,
  type SettledGroup,
  settledGroup,
  WriterNotes,
} from '../group-note.ts'
import { GROUP_SIZE, NOTED_AFTER } from './schema.ts'
import type { Row } from './sessions.ts'

/** Interval between checks for what other writers wrote. */
const LOOK_MS = 60_000
/** Number of last groups of another writer that are attested: as many as it may have in flight, and those before them. */
const LAST_GROUPS = 4

type Queries = Pick<pg.ClientBase, 'query'>

/** Arguments for `append_group_noted`; without a seal, a row that attests nothing. */
export interface NoteColumns {
  readonly values: readonly unknown[]
  readonly draft?: DraftNote
}

export class GroupNotes {
  readonly #schema: string
  #seal: NoteSeal | undefined
  #notes = new WriterNotes()
  #opening: NoteOpening | undefined
  #nextLookMs = 0
  #looking: Promise<void> | undefined

  constructor(schema: string) {
    this.#schema = schema
  }

  sealWith(seal: NoteSeal): void {
    this.#seal = seal
  }

  /** Note columns for the next group. Rejects with the error of the server. */
  async columns(client: Queries): Promise<NoteColumns> {
    const seal = this.#seal
    if (seal === undefined) return { values: [null, false, null, null] }
    if (performance.now() >= this.#nextLookMs)
      this.#looking ??= this.#look(client, seal).finally(() => {
        this.#looking = undefined
      })
    await this.#looking
    const draft = this.#notes.draft(this.#opening)
    const text = JSON.stringify(draft.note)
    return { values: [this.#notes.writer, draft.note.opens !== undefined, text, seal.seal(text)], draft }
  }

  /** Called when the group of this note was acknowledged with at least one append written. */
  written(draft: DraftNote | undefined): void {
    if (draft === undefined) return
    this.#notes.written(draft)
    if (draft.note.opens === this.#opening) this.#opening = undefined
  }

  settle(appends: readonly Append[], results: readonly AppendResult[]): void {
    const group = this.#seal && settledGroup(appends, results)
    if (group !== undefined) this.#notes.settle(group)
  }

  /** Reads what other writers wrote since any process last checked. */
  async #look(client: Queries, seal: NoteSeal): Promise<void> {
    const s = this.#schema
    const { rows: found } = await client.query<Row>(
      `SELECT ${s}.settled_group() AS settled, (SELECT value FROM ${s}.meta WHERE name = '${NOTED_AFTER}') AS since`,
    )
    const { rows: last } = await client.query<Row>(
      `SELECT note, seal FROM ${s}.event_groups WHERE opens ORDER BY grp DESC LIMIT 1`,
    )
    const since = Number(found[0]?.since)
    const seen = last[0] && sealedNote(seal, last[0])?.opens?.upTo
    const others = await this.#others(client, seal, seen ?? 0)
    for (const group of others.groups) this.#notes.settle(group)
    this.#opening = { since, upTo: Number(found[0]?.settled), heads: others.heads }
    this.#nextLookMs = performance.now() + LOOK_MS
  }

  async #others(client: Queries, seal: NoteSeal, seen: number) {
    const s = this.#schema
    // Visits each writer with one index step: there are as many writers as there were process starts.
    const { rows } = await client.query<Row>(
      `WITH RECURSIVE writers AS (
        (SELECT writer FROM ${s}.event_groups WHERE writer IS NOT NULL ORDER BY writer LIMIT 1)
        UNION ALL
        SELECT (SELECT g.writer FROM ${s}.event_groups g WHERE g.writer > w.writer ORDER BY g.writer LIMIT 1) FROM writers w WHERE w.writer IS NOT NULL
      )
      SELECT last.grp, last.note, last.seal, last.place FROM writers w CROSS JOIN LATERAL (
        SELECT g.grp, g.note, g.seal, row_number() OVER (ORDER BY g.grp DESC) AS place FROM ${s}.event_groups g
        WHERE g.writer = w.writer AND g.grp > $1 ORDER BY g.grp DESC LIMIT ${LAST_GROUPS}
      ) last WHERE w.writer IS NOT NULL AND w.writer <> $2 ORDER BY last.grp`,
      [seen, this.#notes.writer],
    )
    const heads = rows.flatMap((row) => {
      const note = Number(row.place) === 1 ? sealedNote(seal, row) : undefined
      return note === undefined ? [] : [headOf(note)]
    })
    const groups: SettledGroup[] = []
    for (const { grp } of rows) groups.push(...(await this.#eventsOf(client, Number(grp))))
    return { heads, groups }
  }

  async #eventsOf(client: Queries, group: number): Promise<readonly SettledGroup[]> {
    const { rows } = await client.query<Row>(
      `SELECT position, stream, revision, header FROM ${this.#schema}.events WHERE position >= $1 AND position < $2 ORDER BY position`,
      [group * GROUP_SIZE, (group + 1) * GROUP_SIZE],
    )
    if (rows.length === 0) return []
    const at: [number, number, string, number][] = []
    for (const { position, stream, revision } of rows) {
      const before = at.at(-1)
      const goesOn =
        before !== undefined &&
        before[2] === stream &&
        before[0] + before[1] === position &&
        before[3] + before[1] === revision
      if (goesOn) before[1] += 1
      else at.push([Number(position), 1, String(stream), Number(revision)])
    }
    return [
      {
        at,
        digest: headersDigest(
          rows.map(({ position, header }) => ({ position: Number(position), header: String(header) })),
        ),
      },
    ]
  }
}

function sealedNote(seal: NoteSeal, { note, seal: value }: Row) {
  return seal.holds(String(note), String(value)) === true ? parseNote(String(note)) : undefined
}
