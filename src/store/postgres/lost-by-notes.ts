/** @module Events that are gone, by the notes of their writers, for who follows the store: each page of notes is looked at once. */
import { parsePosition } from '../decimal-position.ts'
import type { EventStore, LostEvents, NoteSeal, Position } from '../event-store.ts'
import { NoteCheck } from './group-check.ts'
import { settledPosition } from './reads.ts'
import { GROUP_SIZE } from './schema.ts'
import type { Sessions } from './sessions.ts'

type Range = Parameters<NonNullable<EventStore['lostEvents']>>[0]

export class LostByNotes {
  readonly #sessions: Sessions
  readonly #seal: NoteSeal

  constructor(sessions: Sessions, seal: NoteSeal) {
    this.#sessions = sessions
    this.#seal = seal
  }

  async lost({ after, until }: Range): Promise<readonly LostEvents[]> {
    const check = new NoteCheck(this.#sessions, this.#seal, { isPart: after !== undefined })
    const upTo = until === undefined ? groupOf(await settledPosition(this.#sessions)) : groupOfPosition(until)
    const lost: LostEvents[] = []
    for await (const page of check.pages({ after: after === undefined ? 0 : groupOfPosition(after), upTo }))
      lost.push(...page.lost)
    return lost
  }
}

function groupOfPosition(position: Position): number {
  return groupOf(parsePosition(position))
}

function groupOf(position: number): number {
  return Math.floor(position / GROUP_SIZE)
}
