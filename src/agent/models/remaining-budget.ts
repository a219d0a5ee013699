/** @module The remaining budget of a run, as reported by its ledger; in a replay, the budget at its start. A run without limits is queried only once. */
import { liveOf, reach, type Session } from '../runtime/session.ts'
import { limitsOf, type RemainingBudget, remainingIn } from './projection.ts'

const UNLIMITED: RemainingBudget = { tokens: undefined, nano: undefined }

/** Sessions whose run has no limit; limits never change during a run. */
const unlimited = new WeakSet<Session>()

export async function remainingBudget(session: Session, agent: string | undefined): Promise<RemainingBudget> {
  if (session.live === undefined) return limitsOf(session.history?.run.budget ?? {}, agent)
  if (unlimited.has(session)) return UNLIMITED
  const { connection } = liveOf(session)
  const document = await reach(session, () => connection.budget(session.runId))
  const limits = { ...(document.limits as object), ...(document.agentLimits as object) }
  if (Object.keys(limits).length === 0) unlimited.add(session)
  return remainingIn(document, agent)
}
