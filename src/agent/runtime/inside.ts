/** @module Where the code of a call stands while it runs, and what is held on the budget meanwhile. */
import type { Asked } from '../calls/asked.ts'
import type { Claimed } from '../calls/lease.ts'
import { joined, type Place } from './place.ts'
import { liveOf } from './session.ts'

/** Nested calls name their parent. They have a scope of the call's own, or, where the call is a step, the step's. */
export function placeInside({ place, spec, argsDigest }: Asked, callId: string): Place {
  const { inside } = spec
  const scope = inside === undefined ? joined(place.scope, `in:${callId}`) : place.scope
  const step = inside?.step ?? place.step
  return {
    session: place.session,
    ...(scope !== undefined && { scope }),
    dedupe: inside?.dedupe ?? 'position',
    ...(place.branch !== undefined && { branch: place.branch }),
    ...(step !== undefined && { step }),
    ancestors: [...place.ancestors, { callId, tool: spec.name, argsDigest }],
  }
}

/** Whether a scope lies inside a call. A step's own scope holds its handoffs, which the step asks for itself. */
export function isInside({ place, spec }: Asked, callId: string): (scope: string) => boolean {
  if (spec.inside !== undefined) return (scope) => scope.startsWith(`${place.scope ?? ''}/`)
  const own = joined(place.scope, `in:${callId}`)
  return (scope) => scope === own || scope.startsWith(`${own}/`)
}

/** What is held for a whole step is given back once, at its first model call: that one reserves for itself. */
export function holdForStep({ place, spec }: Asked, { reservationId }: Claimed): void {
  const step = spec.inside?.step
  if (step === undefined || reservationId === undefined) return
  const { session } = place
  const { connection } = liveOf(session)
  let released: Promise<unknown> | undefined
  step.release = async () => {
    released ??= connection.execute(session.runId, { kind: 'release', reservationId, body: {} })
    await released
  }
}
