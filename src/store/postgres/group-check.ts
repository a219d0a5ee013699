/** @module Compares the notes of groups with the events: finds lost events, and rows that differ from what their writers left. */

import type { LostEvents, NoteSeal } from '../event-store.ts'
import { type GroupNote, headersDigest, NoteChains, parseNote, type SettledGroup } from '../group-note.ts'
import { GROUP_SIZE, NOTED_AFTER } from './schema.ts'
import { type Row, read, type Sessions } from './sessions.ts'

const PAGE_NOTES = 500

export interface NoteFindings {
  readonly lost: readonly LostEvents[]
  /** Faults in the notes themselves. */
  readonly broken: readonly string[]
  /** Faults of events that exist but are not the attested ones. */
  readonly altered: readonly string[]
  /** Number of notes sealed with keys that are not known here. */
  readonly unknownKeys: number
}

/** Whether an event is acknowledged as lost for good. */
export type IsAcknowledged = (place: { readonly stream: string; readonly revision: number }) => boolean

export interface NoteRange {
  /** Group numbers; `after` is exclusive, `upTo` inclusive. */
  readonly after: number
  readonly upTo: number
}

/** Reads the notes in the order of their groups, page by page. */
export class NoteCheck {
  readonly #sessions: Sessions
  readonly #seal: NoteSeal
  readonly #chains: NoteChains
  /** The group whose note is being taken. */
  #group = 0
  readonly #isAcknowledged: IsAcknowledged | undefined
  readonly #since = new Set<number>()
  readonly #acknowledged = new Set<number>()
  #unknownKeys = 0

  /** `isPart`: only a part of the notes is read (see `NoteChains`). `isAcknowledged`: absent if no event is. */
  constructor(
    sessions: Sessions,
    seal: NoteSeal,
    {
      isPart = false,
      isAcknowledged,
    }: { readonly isPart?: boolean; readonly isAcknowledged?: IsAcknowledged | undefined } = {},
  ) {
    this.#sessions = sessions
    this.#seal = seal
    this.#chains = new NoteChains(isPart ? (writer) => this.#notesBefore(writer) : undefined)
    this.#isAcknowledged = isAcknowledged
  }

  /** The last groups from before notes were written, as stated by writers. */
  get since(): ReadonlySet<number> {
    return this.#since
  }

  /** Attested groups of which every event is acknowledged as lost. */
  get acknowledged(): ReadonlySet<number> {
    return this.#acknowledged
  }

  async *pages({ after, upTo }: NoteRange): AsyncGenerator<NoteFindings, void> {
    for (let from = after; ; ) {
      const rows = await read(
        this.#sessions,
        `SELECT grp, writer, note, seal FROM ${this.#sessions.target.schema}.event_groups
          WHERE grp > $1 AND grp <= $2 AND writer IS NOT NULL ORDER BY grp LIMIT ${PAGE_NOTES}`,
        [from, upTo],
      )
      if (rows.length > 0) yield await this.#findings(rows)
      if (rows.length < PAGE_NOTES) return
      from = Number(rows.at(-1)?.grp)
    }
  }

  async #findings(rows: readonly Row[]): Promise<NoteFindings> {
    const broken: string[] = []
    const settled: SettledGroup[] = []
    this.#unknownKeys = 0
    for (const row of rows) {
      const note = this.#noteOf(row)
      if (note === undefined) continue
      if (note === 'broken') {
        broken.push(`the note of the group ${row.grp} is not as its writer sealed it`)
        continue
      }
      if (note.opens !== undefined) this.#since.add(note.opens.since)
      this.#group = Number(row.grp)
      const taken = await this.#chains.take(note)
      broken.push(...taken.faults)
      settled.push(...taken.settled)
    }
    const held = await this.#held(settled)
    return { lost: held.lost, broken, altered: held.faults, unknownKeys: this.#unknownKeys }
  }

  /** Those that are as they were sealed, the last ones first. */
  async *#notesBefore(writer: string): AsyncGenerator<GroupNote, void> {
    for (let before = this.#group; ; ) {
      const rows = await read(
        this.#sessions,
        `SELECT grp, note, seal FROM ${this.#sessions.target.schema}.event_groups
          WHERE writer = $1 AND grp < $2 ORDER BY grp DESC LIMIT ${PAGE_NOTES}`,
        [writer, before],
      )
      for (const { note, seal } of rows) {
        const own = this.#seal.holds(String(note), String(seal)) === true ? parseNote(String(note)) : undefined
        if (own?.writer === writer) yield own
      }
      if (rows.length < PAGE_NOTES) return
      before = Number(rows.at(-1)?.grp)
    }
  }

  #noteOf({ writer, note, seal }: Row): GroupNote | 'broken' | undefined {
    const holds = this.#seal.holds(String(note), String(seal))
    if (holds === undefined) this.#unknownKeys += 1
    if (holds === undefined) return undefined
    const read = holds ? parseNote(String(note)) : undefined
    return read?.writer === writer ? read : 'broken'
  }

  /** Compares attested groups with the events that exist now. */
  async #held(settled: readonly SettledGroup[]): Promise<{ lost: readonly LostEvents[]; faults: readonly string[] }> {
    const positions = settled.flatMap(({ at }) => at.flatMap(([first, count]) => placesOf(first, count)))
    if (positions.length === 0) return { lost: [], faults: [] }
    const rows = await read(
      this.#sessions,
      `SELECT position, stream, revision, header FROM ${this.#sessions.target.schema}.events WHERE position = ANY ($1::bigint[])`,
      [positions],
    )
    const found = new Map(rows.map((row) => [Number(row.position), row]))
    const lost: LostEvents[] = []
    const faults: string[] = []
    for (const group of settled) {
      const gone = lostOf(group, found)
      lost.push(...gone)
      if (this.#lacks(group) || gone.length > 0) continue
      if (digestOf(group, found) !== group.digest)
        faults.push(
          `the events at position ${group.at[0]?.[0]} and behind it are not those that their writer put there`,
        )
    }
    return { lost, faults }
  }

  /** Whether an event of the group is acknowledged as lost: what is left of the group no longer has its digest. */
  #lacks({ at }: SettledGroup): boolean {
    const isAcknowledged = this.#isAcknowledged
    if (isAcknowledged === undefined) return false
    const are = at.flatMap(([, count, stream, revision]) =>
      placesOf(revision, count).map((each) => isAcknowledged({ stream, revision: each })),
    )
    const [first] = at[0] ?? []
    if (first !== undefined && !are.includes(false)) this.#acknowledged.add(Math.floor(first / GROUP_SIZE))
    return are.includes(true)
  }
}

function lostOf({ at }: SettledGroup, found: ReadonlyMap<number, Row>): readonly LostEvents[] {
  const lost: { stream: string; revision: number; position: string; events: number }[] = []
  for (const [first, count, stream, revision] of at)
    for (const [place, position] of placesOf(first, count).entries()) {
      const row = found.get(position)
      if (row?.stream === stream && row.revision === revision + place) continue
      const before = lost.at(-1)
      if (before?.stream === stream && before.revision + before.events === revision + place) before.events += 1
      else lost.push({ stream, revision: revision + place, position: String(position), events: 1 })
    }
  return lost
}

function digestOf({ at }: SettledGroup, found: ReadonlyMap<number, Row>): string {
  const positions = at.flatMap(([first, count]) => placesOf(first, count))
  return headersDigest(positions.map((position) => ({ position, header: String(found.get(position)?.header) })))
}

function placesOf(first: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, place) => first + place)
}

export interface GroupRows {
  /** The last group from before notes were written. */
  readonly since: number
  /** Number of groups without a row, and the first of them. */
  readonly noRow: { readonly groups: number; readonly first: number }
  /** Number of rows of a writer without an event, and the first of them. */
  readonly noEvent: { readonly groups: number; readonly first: number }
  /** Number of events that no writer attests: those from before the notes (`before`), and those of writers that write no notes (`unnoted`). */
  readonly before: number
  readonly unnoted: number
}

/** Summarizes the rows of the groups, up to a given group. Groups that are `acknowledged` as lost need no event. */
export async function groupRows(
  sessions: Sessions,
  upTo: number,
  acknowledged: ReadonlySet<number>,
): Promise<GroupRows> {
  const s = sessions.target.schema
  const noEvent = 'events IS NULL AND writer IS NOT NULL AND grp <> ALL ($3::bigint[])'
  const [row] = await read(
    sessions,
    `WITH since AS (SELECT value AS grp FROM ${s}.meta WHERE name = '${NOTED_AFTER}'),
      held AS (SELECT position / ${GROUP_SIZE} AS grp, count(*) AS events FROM ${s}.events WHERE position > 0 AND position < $1 GROUP BY 1),
      joined AS (
        SELECT coalesce(h.grp, g.grp) AS grp, h.events, g.grp IS NOT NULL AS has_row, g.writer,
          coalesce(h.grp, g.grp) <= (SELECT grp FROM since) AS is_before
        FROM held h FULL JOIN (SELECT grp, writer FROM ${s}.event_groups WHERE grp > 0 AND grp < $2) g ON g.grp = h.grp
      )
    SELECT (SELECT grp FROM since) AS since,
      count(*) FILTER (WHERE NOT has_row AND is_before IS NOT TRUE) AS no_row, min(grp) FILTER (WHERE NOT has_row AND is_before IS NOT TRUE) AS no_row_first,
      count(*) FILTER (WHERE ${noEvent}) AS no_event, min(grp) FILTER (WHERE ${noEvent}) AS no_event_first,
      coalesce(sum(events) FILTER (WHERE NOT has_row AND is_before), 0)::bigint AS before,
      coalesce(sum(events) FILTER (WHERE has_row AND writer IS NULL), 0)::bigint AS unnoted FROM joined`,
    [(upTo + 1) * GROUP_SIZE, upTo + 1, [...acknowledged]],
  )
  const [since, before, unnoted] = [row?.since, row?.before, row?.unnoted].map(Number)
  return {
    ...{ since: since ?? 0, before: before ?? 0, unnoted: unnoted ?? 0 },
    noRow: { groups: Number(row?.no_row), first: Number(row?.no_row_first) },
    noEvent: { groups: Number(row?.no_event), first: Number(row?.no_event_first) },
  }
}
