/** @module The events that an acknowledgement names as permanently lost, each with its leaf in the tenant's log (LOG-63). */
import { LossAcknowledged } from './events/loss-acknowledged.ts'
import { parseJsonOrUndefined } from './json.ts'

/** Maximum number of events that the acknowledgements of one tenant name; with more losses, the store has to be restored. */
export const LOST_EVENTS_MAX = 100_000

export interface LostEvent {
  readonly stream: string
  readonly revision: number
  /** Index of the event's leaf in the tenant's log. */
  readonly index: number
  /** Digest of the event's header, which is the hash of its leaf. */
  readonly digest: string
}

/** The lost events that the body names; empty if the body is not a valid acknowledgement. The caller checks whether it may concern that stream. */
export function lostEventsIn(data: string): readonly LostEvent[] {
  const { data: body } = LossAcknowledged.schema.safeParse(parseJsonOrUndefined(data))
  if (body === undefined || body.leaves.length !== body.to - body.from + 1) return []
  const { stream, from } = body
  return body.leaves.map((leaf, at) => ({ stream, revision: from + at, ...leaf }))
}

export function isAcknowledgement(header: string): boolean {
  return header.includes('"type":"LossAcknowledged"')
}

/** A position in a store, as text. */
export function placeText({ stream, revision }: Pick<LostEvent, 'stream' | 'revision'>): string {
  return `${stream} @ ${revision}`
}
