/** @module Requests that no record holds, made while the record holds others that the code has still to make: each waits until those are made (RUN-187). */
import { onAbort } from '../../resources/linked-signal.ts'
import type { Patience } from './patience.ts'

/** What the record holds that comes first. Asked again whenever the code has given a sign. */
export interface Precedence {
  /** Whether any of it is still to be requested. */
  readonly isUnmade: () => boolean
  /** The divergence, where the code never requests it. */
  readonly fault: () => Error
}

export interface HeldRequest extends Precedence {
  /** The calls inside of which it is made. */
  readonly callers: readonly { readonly callId: string }[]
  readonly signal: AbortSignal | undefined
}

export class HeldRequests {
  readonly #held = new Map<HeldRequest, () => void>()
  readonly #patience: Patience
  readonly #isBesideWork: () => boolean

  constructor(patience: Patience, isBesideWork: () => boolean) {
    this.#patience = patience
    this.#isBesideWork = isBesideWork
  }

  /** They, and the calls inside of which they are made: none of these is work that the code may be waiting for. */
  get turns(): number {
    const callers = [...this.#held.keys()].flatMap((each) => each.callers.map(({ callId }) => callId))
    return this.#held.size + new Set(callers).size
  }

  /** Resolves when what comes first was requested, when the run stops, or when the signal is aborted: who waits looks again. Rejects where the code never requests it. */
  async hold(request: HeldRequest): Promise<void> {
    const { signal } = request
    if (signal?.aborted === true) return
    let leave: (() => void) | undefined
    try {
      await new Promise<void>((go, never) => {
        this.#held.set(request, go)
        leave = signal && onAbort(signal, () => go())
        this.#patience.start({
          isBesideWork: this.#isBesideWork,
          // The first of those that are held then: the error names both sides.
          fault: () => [...this.#held.keys()][0]?.fault() ?? request.fault(),
          giveUp: never,
        })
      })
    } finally {
      leave?.()
      this.#held.delete(request)
      if (this.#held.size === 0) this.#patience.stop()
    }
  }

  /** The code has requested, or was handed, something that the record holds. */
  progress(): void {
    this.#patience.restart()
  }

  /** Lets go of what nothing comes before any more; of all of it where the run stops. */
  look(isStopped: boolean): void {
    for (const [request, go] of this.#held) if (isStopped || !request.isUnmade()) go()
  }
}
