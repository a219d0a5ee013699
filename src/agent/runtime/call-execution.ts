/** @module The execution context of a call's code, and the handling of its budget reservation and lease. */
import { LedgerError, UnreachableError } from '../../client/errors.ts'
import type { CallIdentity } from '../calls/call-identity.ts'
import type { AttemptOptions } from '../calls/execute-call.ts'
import type { Claimed } from '../calls/lease.ts'
import { clip, type InDoubt } from '../errors.ts'
import { type ExecutionContext, joined } from './execution-context.ts'
import { liveOf, reach, type Session } from './session.ts'

/** The context for code inside a call. Nested calls name it as their parent. Their scope is the call's own or, if the call is a step, the step's. */
export function executionInside(
  { execution, spec, argsDigest }: CallIdentity,
  { callId, fence }: Pick<Claimed, 'callId' | 'fence'>,
  claim?: () => Promise<void>,
): ExecutionContext {
  const { inside } = spec
  const scope = inside === undefined ? joined(execution.scope, `in:${callId}`) : execution.scope
  const step = inside?.step ?? execution.step
  return {
    session: execution.session,
    ...(scope !== undefined && { scope }),
    dedupe: inside?.dedupe ?? 'position',
    ...(execution.branch !== undefined && { branch: execution.branch }),
    ...(step !== undefined && { step }),
    ...(execution.span !== undefined && { span: execution.span }),
    ancestors: [...execution.ancestors, { callId, tool: spec.name, argsDigest, fence, ...(claim && { claim }) }],
  }
}

/** Returns a predicate for scopes that lie inside a call. A step's own scope is excluded: it holds the handoffs that the step itself requests. */
export function isInside({ execution, spec }: CallIdentity, callId: string): (scope: string) => boolean {
  if (spec.inside !== undefined) return (scope) => scope.startsWith(`${execution.scope ?? ''}/`)
  const own = joined(execution.scope, `in:${callId}`)
  return (scope) => scope === own || scope.startsWith(`${own}/`)
}

/** The reservation of a whole step is released once, at its first model call, because model calls make their own reservations. */
export function holdForStep({ execution, spec }: CallIdentity, { reservationId }: Claimed): void {
  const step = spec.inside?.step
  if (step === undefined || reservationId === undefined) return
  const { session } = execution
  const { connection } = liveOf(session)
  let released: Promise<unknown> | undefined
  step.release = async () => {
    released ??= reach(session, () => connection.execute(session.runId, { kind: 'release', reservationId, body: {} }))
    await released
  }
}

/** The signals that end an attempt. A run within the run gets its signal as a notice only, and ends on its own. */
export function endingOf({ execution, spec }: CallIdentity): Pick<AttemptOptions, 'signal' | 'notice' | 'isUndone'> {
  const { branch, session } = execution
  if (spec.isRun === true) return { signal: undefined, notice: branch?.signal ?? session.signal }
  return { signal: session.signal, notice: branch?.signal, isUndone: 'tool' in spec.compensate }
}

const REASON_MAX_CHARS = 1_000

/**
 * Gives up a call in which the run was halted: the call is settled as unknown, so the next process can take it over without waiting for the lease to expire.
 */
export async function leave(
  session: Session,
  { callId, fence }: Pick<Claimed, 'callId' | 'fence'>,
  why = `the run went no further inside it: ${session.halted?.message ?? ''}`,
): Promise<void> {
  if (session.halted instanceof UnreachableError || session.halted instanceof LedgerError) return
  const reason = clip(why, REASON_MAX_CHARS)
  const settle = { kind: 'settle', callId, body: { fence, unknown: { reason, left: true } } } as const
  await liveOf(session)
    .connection.execute(session.runId, settle)
    .catch(() => undefined)
}

/**
 * Leaves the call in doubt to the next resume: the code, which has ended with the doubt, did not see it as an outcome. Once the doubt is resolved, the call is
 * served or made again.
 */
export async function leaveDoubt(session: Session, { evidence }: InDoubt): Promise<void> {
  const claimed = session.doubts.get(String(evidence.callId))
  if (claimed === undefined) return
  session.doubts.delete(claimed.callId)
  await leave(session, claimed, String(evidence.reason ?? 'the outcome is not known'))
}
