/** @module The caller of a command or a query: the principal that it acts for, and the limits of its token. */
import type { Pace } from '../resources/work-queue.ts'

/** Every member comes from the token, never from a body. */
export interface Caller {
  readonly tenant: string
  readonly actor: string
  /** The token's subject, whose share of the work this request uses. Defaults to the actor. */
  readonly subject?: string
  readonly principal?: string
  /** Roles by which the bearer may decide, as asserted by the issuer. */
  readonly roles?: readonly string[]
  readonly via?: readonly string[]
  /** Yields between small pieces of a read. If absent, the read never waits. */
  readonly pace?: Pace
  /** The one run that the token is bound to. */
  readonly run?: string
  /** The one agent that the token is bound to. */
  readonly agent?: string
}
