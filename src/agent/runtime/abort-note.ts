/** @module Notes that the caller's signal aborted the code of a run, and when: its end records that, so that a replay is aborted at the same place (RUN-294). */
import type { Failure } from '../../../schemas/values.ts'
import { onAbort } from '../../resources/linked-signal.ts'
import { failureOf } from '../errors.ts'

interface Aborted {
  /** Number of the run's own events that the code knew of; 0: it had not begun. */
  readonly after: number
  readonly error: Failure
}

export class AbortNote {
  #aborted: Aborted | undefined
  readonly #leave: (() => void) | undefined

  /** `known`: number of events that the code knows of now. */
  constructor(signal: AbortSignal | undefined, known: () => number) {
    const note = (reason: unknown): void => {
      this.#aborted = { after: Math.max(1, known()), error: failureOf(reason) }
    }
    if (signal?.aborted === true) this.#aborted = { after: 0, error: failureOf(signal.reason) }
    else this.#leave = signal && onAbort(signal, note)
  }

  /** The code has ended. */
  over(): void {
    this.#leave?.()
  }

  /** The member of the command that ends the run. */
  get recorded(): { readonly aborted?: Aborted } {
    return this.#aborted === undefined ? {} : { aborted: this.#aborted }
  }
}
