/** @module Who sends a command or a query, on whose behalf, and within which bounds. */
import type { Pace } from '../resources/work-queue.ts'

/** Every member comes from the token, never from a body. */
export interface Caller {
  readonly tenant: string
  readonly actor: string
  /** Of the token: whose share of the work it is; absent: the actor's. */
  readonly subject?: string
  readonly principal?: string
  /** What the bearer may decide, by the issuer's word. */
  readonly roles?: readonly string[]
  readonly via?: readonly string[]
  /** When its reads may go on, between small pieces of work; absent: at once. */
  readonly pace?: Pace
  /** The one run the token is bound to. */
  readonly run?: string
  /** The one agent the token is bound to. */
  readonly agent?: string
}
