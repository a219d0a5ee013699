/** @module A call without effects that runs before it is claimed; the ledger gets claim and outcome in one append (RUN-210). */
import { randomBytes } from 'node:crypto'
import type { ClaimCall } from '../../../schemas/requests.ts'
import { createIdSource } from '../../signing/id-source.ts'
import { LedgerRefused } from '../errors.ts'
import { leave } from '../runtime/call-execution.ts'
import type { Reply } from '../runtime/connection.ts'
import { liveOf, reach } from '../runtime/session.ts'
import { type CallIdentity, claimOf } from './call-identity.ts'
import { type Claimed, claimedIn, keepLease } from './lease.ts'
import { StepNotTaken } from './settle.ts'

const newCallId = createIdSource(randomBytes, Date.now)

/** Whether this call may run before it is claimed: nothing that it declares has to be recorded first. */
export function mayRunUnclaimed({ spec, execution, phase, tool }: CallIdentity): boolean {
  if (spec.effects !== 'none' || phase !== 'forward' || !execution.session.mayRunUnclaimed(tool)) return false
  if (spec.stream || spec.isEarly === true || spec.isRun === true || spec.inside !== undefined) return false
  const isPlain = spec.compensate.kind === 'none' || spec.compensate.kind === 'not-needed'
  const own = [spec.check, spec.key, spec.approve, spec.record, spec.reserve, spec.usage, spec.usageOfFailure]
  return isPlain && spec.unreachable === 'stop' && own.every((member) => member === undefined)
}

export class StepClaim {
  readonly #identity: CallIdentity
  /** The claim as it will be sent, with what only this process knows: `callId` and `after`. */
  readonly #body: ClaimCall
  readonly #callId = newCallId()
  readonly #over = Promise.withResolvers<void>()
  #asked: Promise<void> | undefined
  #claimedAt: string | undefined
  #stop: (() => void) | undefined

  /** `after`: position of the last outcome that the code had been given when it asked for the call. */
  constructor(identity: CallIdentity, after: number) {
    this.#identity = identity
    this.#body = { ...claimOf(identity), callId: this.#callId, after }
  }

  /** The claim under which the call runs. The ledger always gives a first attempt this fence. */
  get claimed(): Claimed {
    return { callId: this.#callId, fence: 1, attempt: 1, leaseMs: 0, claimedAt: '' }
  }

  /** Claims the call while it runs, because its code asks something of the run. */
  readonly claim = (): Promise<void> => {
    this.#asked ??= this.#claim()
    return this.#asked
  }

  async #claim(): Promise<void> {
    const { execution } = this.#identity
    const { session } = execution
    const { claims, connection } = liveOf(session)
    const reply: Reply = await reach(session, () => claims.claim(this.#body, execution.span?.traceparent))
    if (!reply.ok) throw new LedgerRefused(reply.problem)
    const claimed = claimedIn(reply.body)
    if (!reply.created || claimed.callId !== this.#callId) {
      if (reply.created) await leave(session, claimed, 'its code began under another id')
      const detail = 'another caller has run this call meanwhile'
      throw new LedgerRefused({ code: 'call-in-progress', detail, evidence: reply.body })
    }
    if (reply.body.redacted !== undefined) session.redactedArgs.set(claimed.callId, this.#identity.args)
    this.#claimedAt = claimed.claimedAt
    this.#stop = keepLease(connection, session.runId, claimed)
  }

  /** The claim to send with the outcome; undefined if the call was claimed while it ran. */
  async unclaimed(): Promise<ClaimCall | undefined> {
    if (this.#asked === undefined) {
      // Code that goes on after the end of the call, as after a timeout, asks for more only when the call is recorded.
      this.#asked = this.#over.promise
      return this.#body
    }
    await this.#asked.catch((error: unknown) => {
      throw error instanceof LedgerRefused ? new StepNotTaken(error.code) : error
    })
    return undefined
  }

  /** When the ledger recorded the claim, if the call was claimed while it ran. */
  get claimedAt(): string | undefined {
    return this.#claimedAt
  }

  /** Whether the ledger has the call, because it was claimed while it ran. */
  async isClaimed(): Promise<boolean> {
    if (this.#asked === undefined) return false
    return this.#asked.then(
      () => true,
      () => false,
    )
  }

  /** Ends the renewal of the lease, once the call is recorded or is not going to be. */
  end(): void {
    this.#stop?.()
    this.#over.resolve()
  }
}
