/** @module Delays requests that the record does not hold while it holds others that the code has yet to make (RUN-187). */
import { onAbort } from '../../resources/linked-signal.ts'
import type { Patience } from './patience.ts'

/** Recorded requests that must come first; evaluated again after each progress of the code. */
export interface Precedence {
  /** Whether any of them is still unrequested. */
  readonly isUnmade: () => boolean
  /** The divergence to report if the code never requests them. */
  readonly fault: () => Error
}

/** What the record says of a call before it is made. */
export interface Expected {
  /** Whether the record holds the call, or may lack it although the code has had its outcome. */
  readonly isHeld: boolean
  /** Set if the tool may run without the ledger, and may have done so before requests that the record holds. */
  readonly isHad?: boolean
  /** Recorded calls of its place that must be requested first. */
  readonly first?: Precedence
  /** Where a call that the record does not hold was requested, if the record holds others that the code has yet to make. */
  readonly stack?: string | undefined
}

export interface HeldRequest extends Precedence {
  /** The calls inside which the request is made. */
  readonly callers: readonly { readonly callId: string }[]
  /** The forks inside whose branches it is made. */
  readonly forks?: readonly object[] | undefined
  /** The end of the code, which is no request. */
  readonly isEnd?: boolean
  readonly signal: AbortSignal | undefined
}

export class HeldRequests {
  readonly #held = new Map<HeldRequest, { readonly go: () => void; readonly never: (fault: Error) => void }>()
  readonly #patience: Patience
  readonly #isBesideWork: () => boolean

  constructor(patience: Patience, isBesideWork: () => boolean) {
    this.#patience = patience
    this.#isBesideWork = isBesideWork
  }

  /** Number of held requests plus the distinct calls and forks inside which they are made: none of these is work whose result the code may be waiting for. */
  get turns(): number {
    const held = [...this.#held.keys()]
    const requests = held.filter(({ isEnd }) => isEnd !== true)
    const around = held.flatMap(({ callers, forks = [] }) => [...callers.map(({ callId }) => callId), ...forks])
    return requests.length + new Set(around).size
  }

  get isEmpty(): boolean {
    return this.#held.size === 0
  }

  /**
   * Resolves when the preceding requests were made, the run stops or the signal is aborted; the caller then checks again. Rejects if the code never makes them.
   */
  async hold(request: HeldRequest): Promise<void> {
    const { signal } = request
    if (signal?.aborted === true) return
    let leave: (() => void) | undefined
    try {
      await new Promise<void>((go, never) => {
        this.#held.set(request, { go, never })
        leave = signal && onAbort(signal, () => go())
        this.#patience.start({
          isBesideWork: this.#isBesideWork,
          // The first request that is held at that time, which need not be this one; the error names both sides.
          fault: () => [...this.#held.keys()][0]?.fault() ?? request.fault(),
          giveUp: (fault) => [...this.#held.values()][0]?.never(fault),
        })
      })
    } finally {
      leave?.()
      this.#held.delete(request)
      if (this.#held.size === 0) this.#patience.stop()
    }
  }

  /** The code has requested, or received, something that the record holds. */
  progress(): void {
    this.#patience.restart()
  }

  /** Releases the requests that no longer have to wait, or all of them if the run stops. */
  look(isStopped: boolean): void {
    for (const [request, { go }] of this.#held) if (isStopped || !request.isUnmade()) go()
  }
}
