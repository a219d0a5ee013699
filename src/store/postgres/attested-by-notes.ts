/** @module Reports what the notes of writers attest in a range of the store, for a follower: each page of notes is checked once. */
import { parsePosition } from '../decimal-position.ts'
import type { Attested, EventStore, LostEvents, NoteSeal, Position } from '../event-store.ts'
import { NoteCheck } from './group-check.ts'
import { settledPosition } from './reads.ts'
import { GROUP_SIZE, NOTED_AFTER } from './schema.ts'
import { read, type Sessions } from './sessions.ts'

type Range = Parameters<NonNullable<EventStore['attested']>>[0]

interface Checked {
  readonly check: NoteCheck
  /** The last group that was checked. */
  readonly upTo: number
}

export class AttestedByNotes {
  readonly #sessions: Sessions
  readonly #seal: NoteSeal
  /**
   * State after the previous call. A call that continues from there knows how far each writer's notes went, so a note that disappears between two calls is
   * detected.
   */
  #before: Checked | undefined

  constructor(sessions: Sessions, seal: NoteSeal) {
    this.#sessions = sessions
    this.#seal = seal
  }

  async attested({ after, until }: Range): Promise<Attested> {
    const from = after === undefined ? 0 : groupOfPosition(after)
    const goesOn = after !== undefined && this.#before?.upTo === from
    const check = goesOn && this.#before ? this.#before.check : this.#begin(after !== undefined)
    // Concurrent calls do not share this state.
    this.#before = undefined
    const upTo = until === undefined ? groupOf(await settledPosition(this.#sessions)) : groupOfPosition(until)
    const lost: LostEvents[] = []
    let broken: string | undefined
    let unknownKeys = 0
    for await (const page of check.pages({ after: from, upTo })) {
      lost.push(...page.lost)
      broken ??= page.broken[0]
      unknownKeys += page.unknownKeys
    }
    const [row] = await read(
      this.#sessions,
      `SELECT value FROM ${this.#sessions.target.schema}.meta WHERE name = '${NOTED_AFTER}'`,
      [],
    )
    const since = [...check.since]
    const attestedAfter = {
      now: positionBehind(Number(row?.value ?? 0)),
      ...(since.length > 0 && { noted: positionBehind(Math.min(...since)) }),
    }
    // A note under a key that the next key file will provide does not count as missing.
    if (unknownKeys > 0) return { lost, after: attestedAfter }
    this.#before = { check, upTo: Math.max(from, upTo) }
    return { lost, broken, after: attestedAfter }
  }

  #begin(isPart: boolean): NoteCheck {
    return new NoteCheck(this.#sessions, this.#seal, { isPart })
  }
}

/** The last position of a group. */
function positionBehind(group: number): Position {
  return String((group + 1) * GROUP_SIZE - 1)
}

function groupOfPosition(position: Position): number {
  return groupOf(parsePosition(position))
}

function groupOf(position: number): number {
  return Math.floor(position / GROUP_SIZE)
}
