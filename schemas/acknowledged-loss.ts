/** @module The events that an acknowledgement names as lost for good, one by one: with the leaf that each has in the tenant's log (LOG-63). */
import { LossAcknowledged } from './events/loss-acknowledged.ts'
import { parseJsonOrUndefined } from './json.ts'

export interface LostEvent {
  readonly stream: string
  readonly revision: number
  /** Of its leaf in the tenant's log. */
  readonly index: number
  /** Of its header: the hash of its leaf. */
  readonly digest: string
}

/** None where the body is not one. Whether it may speak of that stream is for the caller to say. */
export function lostEventsIn(data: string): readonly LostEvent[] {
  const { data: body } = LossAcknowledged.schema.safeParse(parseJsonOrUndefined(data))
  if (body === undefined || body.leaves.length !== body.to - body.from + 1) return []
  const { stream, from } = body
  return body.leaves.map((leaf, at) => ({ stream, revision: from + at, ...leaf }))
}

export function isAcknowledgement(header: string): boolean {
  return header.includes('"type":"LossAcknowledged"')
}

/** A place in a store, as a text. */
export function placeText({ stream, revision }: Pick<LostEvent, 'stream' | 'revision'>): string {
  return `${stream} @ ${revision}`
}
