/** @module Measures how far a view, the audit index or the logs lag: the events of this process that their last complete pass has not seen. */

import type { IndexProgress } from './audit/index-building.ts'

export class Followed {
  readonly #eventsSoFar: () => number
  #seen: number | undefined
  #building: () => IndexProgress | undefined = () => undefined

  /** `eventsSoFar` returns the number of events that this process has made durable. */
  constructor(eventsSoFar: () => number) {
    this.#eventsSoFar = eventsSoFar
  }

  /** Call this as a pass begins, and call the returned function once the pass has reached the end that the store had at that time. */
  passing(): () => void {
    const events = this.#eventsSoFar()
    return () => {
      this.#seen = events
    }
  }

  /** Registers the function that returns the progress of a long rebuild, or undefined while none is running. */
  watchBuilding(building: () => IndexProgress | undefined): void {
    this.#building = building
  }

  get building(): IndexProgress | undefined {
    return this.#building()
  }

  /** Undefined before the first complete pass, since the lag is not known until then. */
  get lagEvents(): number | undefined {
    return this.#seen === undefined ? undefined : this.#eventsSoFar() - this.#seen
  }
}
