/** @module Where the code of a call stands while it runs, and what is held on the budget meanwhile. */
import type { CallIdentity } from '../calls/call-identity.ts'
import type { Claimed } from '../calls/lease.ts'
import { type ExecutionContext, joined } from './execution-context.ts'
import { liveOf } from './session.ts'

/** Nested calls name their parent. They have a scope of the call's own, or, where the call is a step, the step's. */
export function executionInside({ execution, spec, argsDigest }: CallIdentity, callId: string): ExecutionContext {
  const { inside } = spec
  const scope = inside === undefined ? joined(execution.scope, `in:${callId}`) : execution.scope
  const step = inside?.step ?? execution.step
  return {
    session: execution.session,
    ...(scope !== undefined && { scope }),
    dedupe: inside?.dedupe ?? 'position',
    ...(execution.branch !== undefined && { branch: execution.branch }),
    ...(step !== undefined && { step }),
    ancestors: [...execution.ancestors, { callId, tool: spec.name, argsDigest }],
  }
}

/** Whether a scope lies inside a call. A step's own scope holds its handoffs, which the step asks for itself. */
export function isInside({ execution, spec }: CallIdentity, callId: string): (scope: string) => boolean {
  if (spec.inside !== undefined) return (scope) => scope.startsWith(`${execution.scope ?? ''}/`)
  const own = joined(execution.scope, `in:${callId}`)
  return (scope) => scope === own || scope.startsWith(`${own}/`)
}

/** What is held for a whole step is given back once, at its first model call: that one reserves for itself. */
export function holdForStep({ execution, spec }: CallIdentity, { reservationId }: Claimed): void {
  const step = spec.inside?.step
  if (step === undefined || reservationId === undefined) return
  const { session } = execution
  const { connection } = liveOf(session)
  let released: Promise<unknown> | undefined
  step.release = async () => {
    released ??= connection.execute(session.runId, { kind: 'release', reservationId, body: {} })
    await released
  }
}
